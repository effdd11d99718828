"""The signals that end a server."""

from __future__ import annotations

import asyncio
import signal


def stop_signal() -> asyncio.Event:
    """Return an event; the next SIGTERM or SIGINT sets it."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, event.set)
    return event
