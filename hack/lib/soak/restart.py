"""Restarts servers under many informers. No informer may have to list again."""

from collections import Counter
from pathlib import Path
from typing import Final

from hack.lib.soak import fleets
from hack.lib.soak.collection import KEPT
from hack.lib.soak.fleets import Fleet
from hack.lib.soak.reflector import Reflector
from hack.lib.soak.rounds import Counts, Rounds
from hack.lib.soak.writer import Writer, count

INFORMERS: Final = 500
_WRITERS: Final = 2
_WRITE_INTERVAL: Final = 0.1
"""Seconds between two writes of a writer: each write is an event for every informer."""
_WRITES: Final = 5
"""Acknowledged writes before, between and after restarts."""
_SILENCE: Final = 60.0
"""Seconds of silence after which an informer connects again."""


class Restarts(Rounds):
    """Running servers. Even rounds kill all at once. Odd rounds replace one after the other, if there are several.

    Behind a host every round replaces: after a kill, kube-apiserver aborts the watches, and informers list again.
    """

    def __init__(self, fleet: Fleet, informers: int = INFORMERS) -> None:
        writers = [Writer(fleet.front, f"r{number}", interval=_WRITE_INTERVAL) for number in range(_WRITERS)]
        self._informers = [Reflector(fleet.front, KEPT, count, patience=_SILENCE, http2=fleet.has_host) for _ in range(informers)]
        super().__init__(fleet, writers, self._informers)

    def _disturb(self, number: int) -> None:
        servers = self._fleet.servers
        with self._writing():
            self._write(_WRITES)
            if self._fleet.has_host or (number % 2 and len(servers) > 1):
                for server in servers:
                    self._fleet.replace(server)
                    self._write(_WRITES)
            else:
                self._end()
                for server in servers:
                    server.start()
            self._write(_WRITES)

    def _new_problems(self, lists: int) -> list[str]:
        """Return the lists after a restart."""
        reasons = Counter(text for informer in self._informers for text in informer.reasons)
        return [f"{lists} lists after a restart; so far because of {dict(reasons)}"] if lists else []


def run(folder: Path, store: str, rounds: int, *, informers: int = INFORMERS, behind_host: bool = False, durable: bool = True) -> Counts:
    """Start the servers of a store, restart them in every round, and return the counts."""
    with fleets.aggregated(folder) if behind_host else fleets.alone(folder, store, replicas=2, durable=durable) as fleet:
        return Restarts(fleet, informers).run(rounds)
