"""Values that take long to make, beside an event loop that must not wait for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from apiext.scheduling.inline_work import HeavyWorkError, current_work

T = TypeVar("T")
_SWITCH_SECONDS: Final = 0.0005
"""Longest wait of the event loop for the interpreter while a value is being made; Python's own is ten times as long."""
_THREAD: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rules")


class Deferred(Generic[T]):
    """A value that is made when it is first needed, once.

    What is large is not made on the event loop but in a thread; until it is ready, writes that need it run in worker processes.
    What is huge is made only there.
    """

    __slots__ = ("_is_huge", "_is_large", "_made", "_make", "_started")

    def __init__(self, make: Callable[[], T], *, is_large: bool, is_huge: bool = False) -> None:
        self._make = make
        self._is_large = is_large
        self._is_huge = is_huge
        self._started = False
        self._made: list[T] = []

    @property
    def is_made(self) -> bool:
        """Return whether the value is ready."""
        return bool(self._made)

    def get(self) -> T:
        """Return the value.

        Raises:
            HeavyWorkError: it is not ready, and takes too long for the event loop.
        """
        if not self.is_made:
            work = current_work()
            if work.is_limited and (self._is_large or self._is_huge):
                self._start()
                raise HeavyWorkError
            self._made = [work.run(lambda _: self._make(), None)]
        return self._made[0]

    def _start(self) -> None:
        if not self._started and not self._is_huge:
            self._started = True
            _THREAD.submit(self._make_in_thread)

    def _make_in_thread(self) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            self._made = [self._make()]
        finally:
            sys.setswitchinterval(before)
