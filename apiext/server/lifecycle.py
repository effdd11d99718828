"""From start to end: listen, serve, and at SIGTERM or SIGINT finish what has begun and close the stores.

Mirrors apiserver pkg/server/genericapiserver.go (PreparedRun and its shutdown order).
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.server.app import open_app
from apiext.server.http.listener import listen, url_of
from apiext.server.http.server import HTTPServer
from apiext.server.lazy_imports import load_the_rest
from apiext.server.shutdown import leave
from apiext.server.tls.credentials import load_credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.server.host.delegated_authentication import Delegation
    from apiext.server.options import Options
    from apiext.server.tls.credentials import Credentials

_LOG: Final = get_logger(__name__)
_HANDSHAKE: Final = 10.0
"""Seconds for a TLS handshake."""


async def serve(options: Options, *, started: Callable[[dict[str, str]], None]) -> None:
    """Serve until a signal asks to stop. `started` is called once the server is ready, with what there is to tell.

    Raises:
        StartError: the server cannot start; nothing is left open.
    """
    stopping = _stop_signal()
    async with AsyncExitStack() as stack:
        listener = listen(options.serving.bind_address, options.serving.port)
        stack.callback(listener.close)
        credentials = load_credentials(options)
        delegation = await _delegation(options, credentials, stack)
        app = await open_app(options, tokens=credentials.tokens, delegation=delegation, certificates=credentials.ends)
        stack.push_async_callback(app.close)
        url = url_of(listener)
        credentials.write_kubeconfig(url)
        http = HTTPServer(app.handler, credentials.entrance)
        loop = asyncio.get_running_loop()
        context = credentials.entrance.context
        accepting = await loop.create_server(http, sock=listener, ssl=context, ssl_handshake_timeout=_HANDSHAKE)
        await app.load()
        facts = {"address": url, **app.describe()}
        if credentials.kubeconfig is not None:
            facts["kubeconfig"] = str(credentials.kubeconfig)
        started(facts)
        keeping = asyncio.create_task(credentials.upkeep(options, url).run())
        stack.callback(keeping.cancel)
        loading = asyncio.create_task(load_the_rest())
        await stopping.wait()
        await loading
        _LOG.info("shutting down")
        await leave(app, http, accepting, options.limits, impatient=_stop_signal())


async def _delegation(options: Options, credentials: Credentials, stack: AsyncExitStack) -> Delegation | None:
    if options.authentication.delegate is None:
        return None
    # loaded where another server knows the clients, which is seldom
    from apiext.server.host.delegated_authentication import open_delegation

    return await open_delegation(options.authentication, credentials.entrance, stack, recalls=options.crd_selector is not None)


def _stop_signal() -> asyncio.Event:
    """An event that the next SIGTERM or SIGINT sets."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, event.set)
    return event
