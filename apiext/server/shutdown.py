"""Graceful shutdown: fail readyz, end each connection with its next answer, then close the idle ones.

Mirrors the order of apiserver pkg/server/genericapiserver.go. kube-apiserver closes idle connections right after the delay, and loses a
request that a client is sending. Here the last answer of a connection carries `Connection: close`, so that only long idle ones are closed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.meta.tasks import end_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.server.app import App
    from apiext.server.http.acceptor import Acceptor
    from apiext.server.http.server import HTTPServer
    from apiext.server.options import LimitOptions

_LINGER: Final = 2.0
"""Seconds for clients whose watches ended to see that the connection ends as well."""
_POLL_INTERVAL: Final = 0.01
"""Seconds."""
_FLUSH_TIMEOUT: Final = 2.0
"""Seconds to send the ends of answers."""


async def shut_down(app: App, http: HTTPServer, acceptor: Acceptor, limits: LimitOptions, *, hurry: asyncio.Event) -> None:
    """Serve for the shutdown delay, then finish the current requests. `hurry` ends this at once."""
    app.shutting_down = True
    http.drain()
    hurrying = asyncio.create_task(hurry.wait())
    finishing = asyncio.create_task(_finish(app, http, acceptor, limits))
    await asyncio.wait({hurrying, finishing}, return_when=asyncio.FIRST_COMPLETED)
    await end_tasks(hurrying, finishing)


async def _finish(app: App, http: HTTPServer, acceptor: Acceptor, limits: LimitOptions) -> None:
    await asyncio.sleep(limits.shutdown_delay)
    acceptor.close()
    app.end_watches()
    http.drain()
    await asyncio.sleep(min(limits.shutdown_delay, _LINGER))
    await _wait_while(http.close_idle, limits.request_timeout)
    await _wait_while(http.has_unsent, _FLUSH_TIMEOUT)
    await http.shutdown(_POLL_INTERVAL)


async def _wait_while(remains: Callable[[], int], seconds: float) -> None:
    """Return once nothing remains, or after so many seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while remains() and loop.time() < end:  # noqa: ASYNC110 -- aiohttp has no event for idle connections
        await asyncio.sleep(_POLL_INTERVAL)
