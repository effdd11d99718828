"""Kills a server, and its etcd, at random moments under writers, and compares stored with acknowledged objects."""

import random
import time
from pathlib import Path
from typing import Final

from hack.lib.soak import fleets
from hack.lib.soak.collection import KEPT
from hack.lib.soak.fleets import Fleet
from hack.lib.soak.follower import Follower
from hack.lib.soak.rounds import Counts, Rounds
from hack.lib.soak.writer import Writer, count
from hack.lib.waiting import until

_WRITERS: Final = 6
_LONGEST_ROUND: Final = 1.5
"""Maximum of seconds of writes before the kill."""
_FIRST_WRITES: Final = 20
_LONGEST_START: Final = 0.6
"""Maximum of seconds before a starting server is killed."""
_KILLED_STARTS: Final = 0.5
"""Share of starts with a second kill."""
_NO_CACHE: Final = "--watch-cache=false"


class Crashes(Rounds):
    """A running server with its etcd, if it has one. Every round kills one of them or both."""

    def __init__(self, fleet: Fleet) -> None:
        writers = [Writer(fleet.front, f"w{number}") for number in range(_WRITERS)]
        super().__init__(fleet, writers, [Follower(fleet.front, KEPT, count)])
        (self._server,) = fleet.servers
        self._random = random.Random()  # noqa: S311 -- no secret

    def _disturb(self, number: int) -> None:
        """Kill at a random moment; the server starts again with a watch cache in odd rounds."""
        etcds = self._fleet.etcds
        victims = self._random.choice(("etcd", "server", "both")) if etcds else "server"
        with self._writing():
            self._write(_FIRST_WRITES)
            time.sleep(self._random.uniform(0, _LONGEST_ROUND))
            if victims != "server":
                etcds[0].kill()
            if victims != "etcd":
                self._server.kill()
            if victims != "server":
                etcds[0].start()
        if victims != "etcd":
            self._start_again(with_cache=bool(number % 2))
        until(self._serve, "being ready")

    def _start_again(self, *, with_cache: bool) -> None:
        """Start the server; sometimes kill the first attempt."""
        command = self._server.process.command
        command[:] = [*(flag for flag in command if flag != _NO_CACHE), *([] if with_cache else [_NO_CACHE])]
        if self._random.random() < _KILLED_STARTS:
            self._server.process.start()
            time.sleep(self._random.uniform(0, _LONGEST_START))
            self._server.kill()
        self._server.start()

    def _new_problems(self, lists: int) -> list[str]:
        return []


def run(folder: Path, store: str, rounds: int, *, durable: bool = True) -> Counts:
    """Start a server on a store, kill it in every round, and return the counts."""
    with fleets.alone(folder, store, durable=durable) as fleet:
        return Crashes(fleet).run(rounds)
