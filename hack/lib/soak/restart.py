"""Restarts servers under many informers. No informer may have to list again."""

import http
import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hack.lib.soak import fleets
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import JSON
from hack.lib.soak.collection import CRDS, KEPT, definition
from hack.lib.soak.fleets import Fleet
from hack.lib.soak.reflector import Reflector
from hack.lib.soak.writer import Writer, count, states
from hack.lib.waiting import until

INFORMERS: Final = 500
_WRITERS: Final = 2
_WRITE_PAUSE: Final = 0.1
"""Seconds between two writes of a writer: each write is an event for every informer."""
_WRITES: Final = 5
"""Acknowledged writes before, between and after restarts."""
_PATIENCE: Final = 60.0
"""Seconds of silence after which an informer connects again, and maximum until all informers show the stored state."""


@dataclass
class Counts:
    """Counts of all rounds. `problems` are lists, contradicting events, and informers that differ from the stored state."""

    rounds: int = 0
    informers: int = 0
    lists: int = 0
    events: int = 0
    problems: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return the counts as one line."""
        return (
            f"{self.rounds} rounds with {self.informers} informers, {self.lists} lists after restarts, {self.events:,} events, "
            f"{len(self.problems)} problems"
        )


class Restarts:
    """Running servers. Even rounds kill all at once. Odd rounds replace one after the other, if there are several.

    Behind a host every round replaces: after a kill, kube-apiserver aborts the watches, and informers list again.
    """

    def __init__(self, fleet: Fleet, informers: int = INFORMERS) -> None:
        self._fleet = fleet
        self._writers = [Writer(fleet.front, f"r{number}", pause=_WRITE_PAUSE) for number in range(_WRITERS)]
        self._informers = [Reflector(fleet.front, KEPT, count, patience=_PATIENCE, http2=fleet.has_host) for _ in range(informers)]
        self.counts = Counts(informers=informers)

    def run(self, rounds: int) -> Counts:
        """Define the collection, then restart and compare several times. The servers do not run afterwards.

        Raises:
            AssertionError: A server does not serve the collection.
            ProcessError: A server does not start again.
        """
        status, answer = _ask(self._fleet.front, "POST", CRDS, definition())
        assert status in {http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT}, answer
        until(self._serve)
        with ExitStack() as stack:
            for informer in self._informers:
                stack.enter_context(informer)
            stack.callback(self._end)
            until(lambda: all(informer.lists for informer in self._informers), patience=_PATIENCE)
            for number in range(rounds):
                with self._writing():
                    self._write()
                    if self._fleet.has_host or (number % 2 and len(self._fleet.servers) > 1):
                        self._roll()
                    else:
                        self._kill()
                    self._write()
                self._compare()
                self.counts.rounds += 1
        return self.counts

    def _serve(self) -> bool:
        return all(_ask(one, "GET", KEPT)[0] == http.HTTPStatus.OK for one in self._fleet.direct)

    def _end(self) -> None:
        """Kill the servers all at once: otherwise an informer could resume at one of them for a moment, and then list."""
        for server in self._fleet.servers:
            server.process.signal(signal.SIGKILL)
        for server in self._fleet.servers:
            server.kill()

    def _kill(self) -> None:
        self._end()
        for server in self._fleet.servers:
            server.start()

    def _roll(self) -> None:
        for server in self._fleet.servers:
            self._fleet.replace(server)
            self._write()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write during the block, also after restarts."""
        ended = threading.Event()

        def write(writer: Writer) -> None:
            while not ended.wait(_WRITE_PAUSE):
                writer.run(ended)

        threads = [threading.Thread(target=write, args=(writer,), daemon=True) for writer in self._writers]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _write(self) -> None:
        """Wait for further acknowledged writes."""
        enough = self._writes() + _WRITES
        until(lambda: self._writes() >= enough, "writing", patience=_PATIENCE)

    def _writes(self) -> int:
        return sum(writer.writes for writer in self._writers)

    def _compare(self) -> None:
        """Compare the informers with the stored objects."""
        found = states(_ask(self._fleet.direct[0], "GET", KEPT)[1]["items"])
        counts = self.counts
        counts.problems += [line for writer in self._writers for line in writer.settle(found)]
        with suppress(AssertionError):
            until(lambda: all(informer.items == found for informer in self._informers), patience=_PATIENCE)
        differing = sum(informer.items != found for informer in self._informers)
        if differing:
            counts.problems.append(f"round {counts.rounds}: {differing} informers differ from what is stored")
        lists = sum(informer.lists - 1 for informer in self._informers)
        if lists > counts.lists:
            reasons = dict(Counter(text for informer in self._informers for text in informer.reasons))
            counts.problems.append(f"round {counts.rounds}: {lists - counts.lists} lists after a restart; so far because of {reasons}")
        counts.lists = lists
        counts.events = sum(len(informer.seen) for informer in self._informers)
        for problems in (*(informer.problems for informer in self._informers), *(writer.problems for writer in self._writers)):
            counts.problems += problems
            problems.clear()


def _ask(access: Access | Replicas, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request and return the code and the JSON of the answer."""
    with access.connection(_PATIENCE) as connection:
        connection.request(method, path, None if body is None else json.dumps(body), JSON)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def run(folder: Path, store: str, rounds: int, *, behind_host: bool = False) -> Counts:
    """Start the servers of a store, restart them in every round, and return the counts."""
    with (fleets.aggregated if behind_host else fleets.alone)(folder, store) as fleet:
        return Restarts(fleet).run(rounds)
