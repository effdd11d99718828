"""Errors that reach the event loop because nobody awaits them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

_CLOSED: Final = "the handler is closed"
"""Part of uvloop's text about a transport that is closed already; its `is_closing` is false then."""


def ignore_closed_connections() -> None:
    """Let the running loop not log errors of connections that are closed already.

    uvloop reports a client that goes away while its last TLS record is processed as a RuntimeError with a traceback, and a server that goes
    away while a connection to it is cancelled as a future that nobody awaits. All other errors are logged as before.
    """
    asyncio.get_running_loop().set_exception_handler(_handle)


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, RuntimeError) and _CLOSED in str(error):
        return
    future = context.get("future")
    if isinstance(error, ConnectionResetError) and future is not None and not isinstance(future, asyncio.Task):
        return
    loop.default_exception_handler(context)
