"""Rounds in which something happens to servers under writers and watches.

After each, what is stored is compared with what was acknowledged and with what the watches show.
"""

import abc
import http
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from hack.lib.soak.collection import CRDS, KEPT, definition
from hack.lib.soak.fleets import Fleet
from hack.lib.soak.follower import Follower
from hack.lib.soak.writer import State, Writer, settle, states
from hack.lib.waiting import until

_PATIENCE: Final = 60.0
"""Seconds until all watches have resumed and show what is stored."""


@dataclass
class Counts:
    """What the rounds found; `problems` are lost writes, revisions with two contents, gaps in watches, and lists where none may come."""

    followers: int = 0
    rounds: int = 0
    acknowledged: int = 0
    in_doubt: int = 0
    lost: int = 0
    lists: int = 0
    """Lists after the first one of each follower."""
    events: int = 0
    problems: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return the counts as one line."""
        return (
            f"{self.rounds} rounds, {self.lost} of {self.acknowledged:,} acknowledged writes lost, {self.in_doubt} writes in doubt, "
            f"{self.followers} watching clients with {self.events:,} events and {self.lists} further lists, {len(self.problems)} problems"
        )


class Rounds(abc.ABC):
    """Running servers with clients. Between rounds all servers run, and no writer writes."""

    def __init__(self, fleet: Fleet, writers: Sequence[Writer], followers: Sequence[Follower[int]]) -> None:
        self._fleet = fleet
        self._writers = writers
        self._followers = followers
        self._revisions: set[int] = set()
        self.counts = Counts(followers=len(followers))

    @abc.abstractmethod
    def _disturb(self, number: int) -> None:
        """Play the round of a number; the servers run again afterwards."""

    @abc.abstractmethod
    def _new_problems(self, lists: int) -> list[str]:
        """Return further problems of a round, in which the followers listed so often."""

    def run(self, rounds: int) -> Counts:
        """Define the collection, then disturb and compare several times. The servers do not run afterwards.

        Raises:
            AssertionError: A server does not serve the collection.
            ProcessError: A server or etcd does not start again.
        """
        status, answer = self._fleet.front.caller.ask("POST", CRDS, definition())
        assert status in {http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT}, answer
        until(self._serve, "serving the collection")
        with ExitStack() as stack:
            for follower in self._followers:
                stack.enter_context(follower)
            stack.callback(self._end)
            until(lambda: all(follower.lists for follower in self._followers), "lists", patience=_PATIENCE)
            for number in range(rounds):
                self._disturb(number)
                self._compare()
                self.counts.rounds += 1
        return self.counts

    def _serve(self) -> bool:
        """Report whether all servers are ready and answer lists; what answers before the definition is served is not JSON."""
        return all(server.ready() for server in self._fleet.servers) and all(
            one.caller.ask("GET", KEPT)[0] == http.HTTPStatus.OK for one in self._fleet.direct
        )

    def _end(self) -> None:
        """Kill the servers, all at once: a client that resumes at one of them for a moment would list again."""
        for server in self._fleet.servers:
            server.process.signal(signal.SIGKILL)
        for server in self._fleet.servers:
            server.kill()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write during the block."""
        with ExitStack() as stack:
            for writer in self._writers:
                stack.enter_context(writer)
            yield

    def _write(self, count: int) -> None:
        """Wait for further acknowledged writes."""
        enough = self._writes() + count
        until(lambda: self._writes() >= enough, "writing", patience=_PATIENCE)

    def _writes(self) -> int:
        return sum(writer.writes for writer in self._writers)

    def _compare(self) -> None:
        """Compare the stored objects and the events of the watches with the acknowledged writes."""
        found = states(self._fleet.direct[0].caller.must("GET", KEPT)["items"])
        counts, writers, followers = self.counts, self._writers, self._followers
        counts.acknowledged = self._writes()
        counts.in_doubt += sum(len(writer.doubts) for writer in writers)
        lost = [line for writer in writers for line in settle(writer.held, writer.doubts, found, _value)]
        counts.lost += len(lost)
        strangers = found.keys() - {name for writer in writers for name in writer.held}
        problems = [*lost, *(f"{name} is stored, and nobody wrote it" for name in strangers)]
        with suppress(AssertionError):
            until(lambda: all(follower.items == found for follower in followers), patience=_PATIENCE)
        if differing := sum(follower.items != found for follower in followers):
            problems.append(f"{differing} watches do not show the {len(found)} objects that are stored")
        problems += self._wrong_revisions()
        lists = sum(follower.lists - 1 for follower in followers)
        problems += self._new_problems(lists - counts.lists)
        counts.lists, counts.events = lists, sum(len(follower.seen) for follower in followers)
        for seen in (*(follower.problems for follower in followers), *(writer.problems for writer in writers)):
            problems += seen
            seen.clear()
        counts.problems += [f"round {counts.rounds}: {problem}" for problem in problems]

    def _wrong_revisions(self) -> list[str]:
        """Compare the acknowledged revisions of the round with earlier ones and with the events."""
        problems = []
        highest = max(self._revisions, default=0)
        acknowledged = [write for writer in self._writers for write in writer.take()]
        for revision, name, value in acknowledged:
            if revision <= highest or revision in self._revisions:
                problems.append(f"revision {revision} of {name} was used before, the highest was {highest}")
            self._revisions.add(revision)
            if seen := {one.seen[revision] for one in self._followers if revision in one.seen} - {(name, value)}:
                problems.append(f"revision {revision} is {name} with {value}, but watches saw {seen}")
        revisions = [revision for revision, _, _ in acknowledged]
        if missed := {revision for follower in self._followers for revision in follower.missed(revisions)}:
            problems.append(f"watches did not show revisions {sorted(missed)[:10]}")
        return problems


def _value(state: State) -> int:
    return state[0]
