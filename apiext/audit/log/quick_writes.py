"""Whether the event loop may write small lines to a file itself: a change to the thread and back would take longer."""

from __future__ import annotations

from typing import Final

_QUICK_BYTES: Final = 64 * 1024
"""Lines that the event loop writes to a file: some 20 µs, less than a change to the thread and back."""
_SLOW: Final = 0.005
"""Seconds from which a write on the event loop is slow. A busy machine makes single ones slow, a slow disk all of them."""
_SLOW_SHARE: Final = 0.01
"""The part of the time that slow writes may take, with those of the last seconds; the thread does the others."""
_SLOW_SECONDS: Final = 2.0
_SLOW_PAUSE: Final = 30.0
"""The most seconds in which the thread does all writes."""


class QuickWrites:
    """Measures the writes of the event loop, and stops them for a while when they are slow."""

    def __init__(self) -> None:
        self._allowed_from = 0.0
        """The event loop's time from which it may write."""

    def allows(self, size: int, now: float) -> bool:
        """Return whether the event loop may write so many bytes at its time `now`."""
        return size <= _QUICK_BYTES and now >= self._allowed_from

    def note(self, begun: float, ended: float) -> None:
        """Take the times of a write, in seconds of the event loop."""
        if ended - begun > _SLOW:
            due = max(self._allowed_from, ended - _SLOW_SECONDS) + (ended - begun) / _SLOW_SHARE
            self._allowed_from = min(due, ended + _SLOW_PAUSE)
