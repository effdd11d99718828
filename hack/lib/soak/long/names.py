"""The names of the objects that clients share. Each lives for a bounded number of operations, so that its history can be checked."""

import random
import threading
from dataclasses import dataclass
from typing import Final

from hack.lib.soak.long.collection import MOVING

_LIVE: Final = 8
"""Objects at one time: few, so that clients meet."""
_OPERATIONS: Final = 40
_UNKNOWN: Final = 2
"""Operations without an answer: each doubles the orders that the checker has to try."""


@dataclass
class Name:
    """One object: its name, the operations that are left, and the revision that a client saw last."""

    text: str
    left: int = _OPERATIONS
    unknown: int = 0
    revision: int = 0


class Names:
    """Hands out the names of the live objects at random."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._random = random.Random()  # noqa: S311 -- no secret
        self._made = 0
        self._live: list[Name] = []
        self._value = 0

    def take(self) -> tuple[Name, bool]:
        """Return a live name for one operation, and whether it is the last one: the client then removes the object."""
        with self._lock:
            while len(self._live) < _LIVE:
                self._live.append(Name(f"{MOVING}{self._made}"))
                self._made += 1
            name = self._random.choice(self._live)
            name.left -= 1
            last = name.left <= 0 or name.unknown >= _UNKNOWN
            if last:
                self._live.remove(name)
            return name, last

    def rest(self) -> list[Name]:
        """Return the names that are live at the end, and forget them."""
        with self._lock:
            rest, self._live = self._live, []
            return rest

    def value(self) -> int:
        """Return a value that nobody has written yet."""
        with self._lock:
            self._value += 1
            return self._value
