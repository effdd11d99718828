"""Makes expensive values beside the event loop, which must not wait for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from apiext.base.scheduling.inline_work import HeavyWorkError, current_work
from apiext.base.scheduling.side_thread import with_short_turns

T = TypeVar("T")
_THREAD: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rules")


class Deferred(Generic[T]):
    """A value made once, at first use.

    For the event loop, a thread makes a large value. Until it is ready, writes that need it run in worker processes. Only worker
    processes make a huge value.
    """

    __slots__ = ("_is_huge", "_made", "_make", "_size", "_started")

    def __init__(self, make: Callable[[], T], *, size: float = 0, is_huge: bool = False) -> None:
        """Begin without the value. `size` is a multiple of what the event loop may make at once."""
        self._make: Callable[[], T] | None = make
        """None once the value is ready: often a method of what keeps this, which would be a reference cycle."""
        self._size = size
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
            HeavyWorkError: the value is not ready, and takes too long for the event loop.
        """
        if not self.is_made:
            work = current_work()
            if work.is_limited and self._is_huge:
                raise HeavyWorkError
            try:
                work.check_size(self._size, 1)
                if (make := self._make) is not None:
                    self._keep(work.run(lambda _: make(), None))
            except HeavyWorkError:
                if work.is_last:
                    self._start()
                raise
        return self._made[0]

    def _keep(self, value: T) -> None:
        self._made = [value]
        self._make = None

    def _start(self) -> None:
        if not self._started:
            self._started = True
            _THREAD.submit(self._make_in_thread)

    def _make_in_thread(self) -> None:
        if (make := self._make) is not None:
            self._keep(with_short_turns(make))
