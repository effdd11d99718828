"""Graceful shutdown: fail readyz, end each connection with its next answer, end the watches, then close idle connections.

Mirrors the order of apiserver pkg/server/genericapiserver.go. kube-apiserver closes idle connections right after the delay, and loses
requests that clients are sending. Here the last answer of a connection carries `Connection: close`, so only long idle ones are closed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.tasks import end_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.server.app import App
    from apiext.server.http.acceptor import Acceptor
    from apiext.server.http.server import HTTPServer
    from apiext.server.options.options import LimitOptions

_LAST_WATCHES: Final = 1.1
"""Seconds without new watches before watches end: client-go lists again after a watch of less than a second without an event."""
_WATCHES_END: Final = 20.0
"""Maximum of seconds over which the ends of watches are spread, if there is a delay and thus another server. Each client needs a new TLS
handshake of 1 to 3 ms. All at once they would wait for more than 10 s on a loaded machine: kube-apiserver gives up, and informers
list again.
"""
_LINGER: Final = 2.0
"""Seconds in which clients notice, after the end of their watches, that the connection ends too."""
_POLL_INTERVAL: Final = 0.01
"""Seconds."""
_FLUSH_TIMEOUT: Final = 2.0
"""Seconds to send unsent parts of answers."""


async def shut_down(app: App, http: HTTPServer, acceptor: Acceptor, limits: LimitOptions, *, hurry: asyncio.Event) -> None:
    """Serve for the shutdown delay, then finish the current requests. If `hurry` is set, return at once."""
    app.shutting_down = True
    http.drain()
    hurrying = asyncio.create_task(hurry.wait())
    finishing = asyncio.create_task(_finish(app, http, acceptor, limits))
    await asyncio.wait({hurrying, finishing}, return_when=asyncio.FIRST_COMPLETED)
    await end_tasks(hurrying, finishing)


async def _finish(app: App, http: HTTPServer, acceptor: Acceptor, limits: LimitOptions) -> None:
    last = min(limits.shutdown_delay, _LAST_WATCHES)
    await asyncio.sleep(limits.shutdown_delay - last)
    app.refuse_watches()
    await asyncio.sleep(last)
    acceptor.close()
    await app.end_watches(_WATCHES_END if limits.shutdown_delay else 0.0)
    await finish_requests(http, linger=min(limits.shutdown_delay, _LINGER), timeout=limits.request_timeout)


async def finish_requests(http: HTTPServer, *, linger: float, timeout: float) -> None:  # noqa: ASYNC109 -- the wait just ends
    """Close each connection when its requests are answered. Clients of idle ones have `linger` seconds for a last request."""
    http.drain()
    await asyncio.sleep(linger)
    await _wait_while(http.close_idle, timeout)
    await _wait_while(http.has_unsent, _FLUSH_TIMEOUT)
    await http.shutdown(_POLL_INTERVAL)


async def _wait_while(remains: Callable[[], int], seconds: float) -> None:
    """Wait while `remains` returns a true value, at most `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while remains() and loop.time() < end:  # noqa: ASYNC110 -- aiohttp has no event for idle connections
        await asyncio.sleep(_POLL_INTERVAL)
