"""PING frames: checks that a silent server is alive, and acknowledges the server's own pings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from apiext.storage.etcd.http2 import frames
from apiext.storage.etcd.http2.frames import ENHANCE_YOUR_CALM, Http2ProtocolError

_INTERVAL_SECONDS: Final = 10.0
"""Seconds of silence before a ping. etcd allows one ping in 5 s, and none without an open call."""
_ACK_DELAY_SECONDS: Final = 0.2
"""Seconds until an acknowledgement. etcd sends a ping with the first request after each acknowledgement, to measure bandwidth: an
immediate one would cause a ping after nearly every write, with a wake-up and a system call on both sides."""
_MAX_ACK_BYTES: Final = 1024
_PAYLOAD: Final = b"apiext.."


class Keepalive:
    """Pings of one connection. `has_calls` reports open calls. Calls `on_timeout` if the server answers no ping."""

    def __init__(self, write: Callable[[bytes], None], has_calls: Callable[[], bool], on_timeout: Callable[[], None]) -> None:
        self._write = write
        self._has_calls = has_calls
        self._on_timeout = on_timeout
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ack_timer: asyncio.TimerHandle | None = None
        self._acks = b""
        self._pinged = False
        self.heard = False
        """Whether anything has arrived in this interval; the connection sets it."""

    def start(self) -> None:
        """Start the timer."""
        self._timer = self._loop.call_later(_INTERVAL_SECONDS, self._tick)

    def stop(self) -> None:
        """Stop all timers."""
        for timer in (self._timer, self._ack_timer):
            if timer is not None:
                timer.cancel()

    def acknowledge(self, payload: bytes) -> None:
        """Acknowledge a ping a little later, together with later ones.

        Raises:
            Http2ProtocolError: the length is wrong, or too many pings await an acknowledgement.
        """
        if len(payload) != frames.PING_BYTES:
            raise Http2ProtocolError("PING frame of a wrong length", frames.FRAME_SIZE_ERROR)
        if self._ack_timer is None:
            self._ack_timer = self._loop.call_later(_ACK_DELAY_SECONDS, self._send_acks)
        self._acks += frames.frame(frames.PING, frames.ACK, 0, payload)
        if len(self._acks) > _MAX_ACK_BYTES:
            raise Http2ProtocolError("too many pings", ENHANCE_YOUR_CALM)

    def _send_acks(self) -> None:
        self._ack_timer = None
        acks, self._acks = self._acks, b""
        self._write(acks)

    def _tick(self) -> None:
        if self._pinged and not self.heard:
            self._on_timeout()
            return
        self._pinged = not self.heard and self._has_calls()
        if self._pinged:
            self._write(frames.frame(frames.PING, 0, 0, _PAYLOAD))
        self.heard = False
        self.start()
