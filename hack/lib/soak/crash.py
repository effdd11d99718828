"""Kills the server, and etcd, at random moments under writers, and compares stored with acknowledged objects."""

import http
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.etcd import Etcd
from hack.lib.soak.access import Access
from hack.lib.soak.collection import CRDS, KEPT, definition
from hack.lib.soak.follower import Follower
from hack.lib.soak.writer import State, Writer, count, start, states
from hack.lib.waiting import until

_WRITERS: Final = 6
_LONGEST_ROUND: Final = 1.5
"""Maximum of seconds of writes before the kill."""
_FIRST_WRITES: Final = 20
_LONGEST_START: Final = 0.6
"""Maximum of seconds before a starting server is killed."""
_KILLED_STARTS: Final = 0.5
"""Share of starts with a second kill."""
_EVENTS_WITHIN: Final = 30.0
"""Maximum of seconds until the resumed watch shows the stored state."""
_NO_CACHE: Final = "--watch-cache=false"


@dataclass
class Counts:
    """Counts of all rounds. `problems` are lost writes, revisions with two contents, and gaps in the watch."""

    rounds: int = 0
    acknowledged: int = 0
    in_doubt: int = 0
    lists: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return the counts as one line."""
        return (
            f"{self.rounds} rounds, {self.lost} of {self.acknowledged:,} acknowledged writes lost, {self.in_doubt} writes in doubt, "
            f"{self.lists} lists of the watching client, {len(self.problems)} problems"
        )


class Crashes:
    """A running server, with its etcd if there is one. Rounds kill them; both run again after each round."""

    def __init__(self, server: ApiextServer, etcd: Etcd | None = None) -> None:
        self._server = server
        self._etcd = etcd
        self._access = Access(server.port, server.ca, KeyPair(server.client_cert, server.client_key))
        self._random = random.Random()  # noqa: S311 -- no secret
        self._writers = [Writer(self._access, f"w{number}") for number in range(_WRITERS)]
        self._written: dict[int, str] = {}
        self.counts = Counts()

    def run(self, rounds: int) -> Counts:
        """Define the collection, then kill and compare several times.

        Raises:
            AssertionError: The server does not serve writes.
            ProcessError: The server or etcd does not start again.
        """
        status, _, answer = self._server.request("POST", CRDS, json.dumps(definition()))
        assert status in {http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT}, answer
        until(self._serves)
        with Follower(self._access, KEPT, count) as follower:
            until(lambda: follower.lists > 0)
            for number in range(rounds):
                self._kill_under_writes(with_cache=bool(number % 2))
                self._compare(follower)
                self.counts.rounds += 1
            self.counts.lists = follower.lists
        return self.counts

    def _serves(self) -> bool:
        return self._server.request("GET", KEPT)[0] == http.HTTPStatus.OK

    def _kill_under_writes(self, *, with_cache: bool) -> None:
        """Kill at a random moment; the server starts again with or without a watch cache."""
        before = self._writes()
        join = start(self._writers, threading.Event())
        until(lambda: self._writes() - before > _FIRST_WRITES, "writing")
        time.sleep(self._random.uniform(0, _LONGEST_ROUND))
        victims = self._random.choice(("etcd", "server", "both")) if self._etcd else "server"
        if self._etcd and victims != "server":
            self._etcd.kill()
        if victims != "etcd":
            self._server.kill()
        if self._etcd and victims != "server":
            self._etcd.start()
        join()
        if victims != "etcd":
            self._start_again(with_cache=with_cache)
        until(lambda: self._server.ready() and self._serves(), "being ready")

    def _start_again(self, *, with_cache: bool) -> None:
        """Start the server; sometimes kill the first attempt."""
        command = self._server.process.command
        command[:] = [*(flag for flag in command if flag != _NO_CACHE), *([] if with_cache else [_NO_CACHE])]
        if self._random.random() < _KILLED_STARTS:
            self._server.process.start()
            time.sleep(self._random.uniform(0, _LONGEST_START))
            self._server.kill()
        self._server.start()

    def _compare(self, follower: Follower[int]) -> None:
        """Compare the stored objects and the events of the watch with the acknowledged writes."""
        found = self._list()
        counts = self.counts
        counts.acknowledged = self._writes()
        counts.in_doubt += sum(len(writer.doubts) for writer in self._writers)
        lost = [line for writer in self._writers for line in writer.settle(found)]
        counts.lost += len(lost)
        strangers = found.keys() - {name for writer in self._writers for name in writer.held}
        counts.problems += [*lost, *(f"{name} is stored, and nobody wrote it" for name in strangers)]
        with suppress(AssertionError):
            until(lambda: follower.items == found, patience=_EVENTS_WITHIN)
        if follower.items != found:
            counts.problems.append(f"the watch shows {len(follower.items)} objects, stored are {len(found)}")
        self._check_revisions(follower)
        for problems in (follower.problems, *(writer.problems for writer in self._writers)):
            counts.problems += problems
            problems.clear()

    def _check_revisions(self, follower: Follower[int]) -> None:
        """Compare the acknowledged revisions of the round with earlier ones and with the events."""
        highest = max(self._written, default=0)
        acknowledged = [write for writer in self._writers for write in writer.take()]
        for revision, name, value in acknowledged:
            if revision <= highest or revision in self._written:
                self.counts.problems.append(f"revision {revision} of {name} was used before, the highest was {highest}")
            if follower.seen.get(revision, (name, value)) != (name, value):
                self.counts.problems.append(f"revision {revision} is {name} with {value}, but the watch saw {follower.seen[revision]}")
            self._written[revision] = name
        if missed := follower.missed([revision for revision, _, _ in acknowledged]):
            self.counts.problems.append(f"the watch did not show revisions {missed[:10]}")

    def _list(self) -> dict[str, State]:
        return states(json.loads(self._server.request("GET", KEPT)[2])["items"])

    def _writes(self) -> int:
        return sum(writer.writes for writer in self._writers)


@contextmanager
def _servers(folder: Path, store: str) -> Iterator[Crashes]:
    if store == "sqlite":
        with ApiextServer(folder) as server:
            yield Crashes(server)
        return
    with Etcd(folder / "etcd") as etcd, ApiextServer(folder, etcd_url=etcd.url) as server:
        yield Crashes(server, etcd)


def run(folder: Path, store: str, rounds: int) -> Counts:
    """Start a server on a store, kill it in every round, and return the counts."""
    with _servers(folder, store) as crashes:
        return crashes.run(rounds)
