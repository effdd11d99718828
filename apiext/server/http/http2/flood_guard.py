"""Bounds what a client makes a connection do for nothing."""

from __future__ import annotations

from typing import Final

from apiext.base.http2.frames import ENHANCE_YOUR_CALM, Http2ProtocolError

_RESETS_PER_STREAM: Final = 4
"""Requests that a client may abandon before they are answered, for each stream that it may have, more than are answered. As in Go."""
_MAX_UNSENT: Final = 1000
"""Answers to frames of control that wait while the client receives nothing."""
_MAX_EMPTY: Final = 1000
"""DATA frames of a connection without data."""


class FloodGuard:
    """The counters of a connection.

    Raises:
        Http2ProtocolError: a method has counted too many.
    """

    __slots__ = ("_empty", "_most_resets", "_resets", "_unsent")

    def __init__(self, max_streams: int) -> None:
        self._most_resets = _RESETS_PER_STREAM * max_streams
        self._resets = 0
        self._empty = 0
        self._unsent = 0

    def on_answer(self) -> None:
        """Note that a request was answered."""
        self._resets = max(0, self._resets - 1)

    def on_reset(self) -> None:
        """Note that a request was abandoned."""
        self._resets += 1
        if self._resets > self._most_resets:
            raise Http2ProtocolError("too many streams are reset", ENHANCE_YOUR_CALM)

    def on_empty_data(self) -> None:
        """Note a DATA frame that has no data and ends nothing."""
        self._empty += 1
        if self._empty > _MAX_EMPTY:
            raise Http2ProtocolError("too many empty frames", ENHANCE_YOUR_CALM)

    def on_unsent_control(self) -> None:
        """Note an answer to a frame of control that waits for the client."""
        self._unsent += 1
        if self._unsent > _MAX_UNSENT:
            raise Http2ProtocolError("too many frames of control", ENHANCE_YOUR_CALM)

    def on_sent(self) -> None:
        """Note that nothing waits."""
        self._unsent = 0
