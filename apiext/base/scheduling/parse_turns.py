"""The order in which connections parse much data, or data with many lines: in turn, a few milliseconds in each turn of the event loop."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

SLICE_SECONDS: Final = 0.002
"""Seconds of parsing in one iteration."""
_AT_ONCE: Final = 1 << 18
"""Bytes received and parsed in one iteration before connections must wait for their turn: what one connection receives at once."""
_RESUMED: Final = 2
"""Connections that continue to receive after one iteration: the event loop then decrypts up to 300 KiB of each at once, in 2 ms or more."""


class ParseTurns:
    """The parts of received data that wait to be parsed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], None]] = deque()
        self._received = 0
        """Bytes of this iteration."""

    def has_room(self, size: int) -> bool:
        """Count received bytes; return whether they can be parsed in this iteration."""
        if not self._received:
            self._loop.call_soon(self._begin_iteration)
        self._received += size
        return self._received <= _AT_ONCE

    def _begin_iteration(self) -> None:
        self._received = 0

    def take(self, parse: Callable[[], None]) -> None:
        """Call `parse` once, after all that wait. It may take another turn."""
        if not self._waiting:
            self._loop.call_soon(self._continue)
        self._waiting.append(parse)

    def _continue(self) -> None:
        try:
            self._parse_some()
        finally:
            if self._waiting:
                self._loop.call_soon(self._continue)

    def _parse_some(self) -> None:
        end = time.perf_counter() + SLICE_SECONDS
        for _ in range(_RESUMED):
            # a turn that it takes meanwhile finds the queue occupied
            try:
                self._waiting[0]()
            finally:
                self._waiting.popleft()
            if not self._waiting or time.perf_counter() >= end:
                return


_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, ParseTurns]] = WeakKeyDictionary()


def parse_turns(loop: asyncio.AbstractEventLoop) -> ParseTurns:
    """Return the turns of all connections of an event loop, those of its servers and clients."""
    turns = _TURNS.get(loop)
    if turns is None:
        turns = _TURNS[loop] = ParseTurns(weakref.proxy(loop))
    return turns
