"""How the server goes away: it is not ready, its connections end with their next answers, then the silent ones are closed.

Mirrors the order of apiserver pkg/server/genericapiserver.go. That closes silent connections as soon as the delay is over, and a request
that is just being sent into one is lost; here they have been told before, by their last answers, or have been silent for long.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.meta.tasks import end_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.server.app import App
    from apiext.server.http.server import HTTPServer
    from apiext.server.options import LimitOptions

_LINGER: Final = 2.0
"""Seconds for clients whose watches have ended to find out that the connection ends, too."""
_LOOK: Final = 0.01
_FAREWELL: Final = 2.0
"""Seconds for the ends of answers to leave."""


async def leave(app: App, http: HTTPServer, accepting: asyncio.Server, limits: LimitOptions, *, impatient: asyncio.Event) -> None:
    """Go on serving for the delay, then finish what has begun; `impatient` cuts it short."""
    app.shutting_down = True
    http.leave()
    cut = asyncio.create_task(impatient.wait())
    leaving = asyncio.create_task(_leave(app, http, accepting, limits))
    await asyncio.wait({cut, leaving}, return_when=asyncio.FIRST_COMPLETED)
    await end_tasks(cut, leaving)


async def _leave(app: App, http: HTTPServer, accepting: asyncio.Server, limits: LimitOptions) -> None:
    await asyncio.sleep(limits.shutdown_delay)
    accepting.close()
    app.end_watches()
    http.leave()
    await asyncio.sleep(min(limits.shutdown_delay, _LINGER))
    await _until_done(http.close_idle, limits.request_timeout)
    await _until_done(http.has_unsent, _FAREWELL)
    await http.shutdown(_LOOK)


async def _until_done(rest: Callable[[], int], within: float) -> None:
    """Return when nothing is left, or when the time (seconds) is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while rest() and loop.time() < end:  # noqa: ASYNC110 -- aiohttp tells nobody when a connection becomes silent
        await asyncio.sleep(_LOOK)
