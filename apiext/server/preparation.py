"""Preparation for the first requests, in a thread once the server is ready: it neither delays the start nor holds the event loop."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from aiohttp import hdrs, web

from apiext.api.endpoints.request import Handler
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.inline_work import start_thread
from apiext.base.scheduling.side_thread import aside

_LOG: Final = get_logger(__name__)
REHEARSAL: Final = "apiext.server.rehearsal"
MODULES: Final = (
    "apiext.api.openapi.handler",
    "apiext.server.observability.log_lines",
)
"""Modules for the first request of kubectl and log event."""
PRELOADED: Final = (
    REHEARSAL,
    "apiext.resources.definitions.validation.definition",
    "apiext.resources.definitions.validation.warnings",
    *MODULES,
)
"""Modules that several workers of a server share."""
_CBOR: Final = ("apiext.base.meta.encoding.cbor_codec", "apiext.base.meta.encoding.cbor_decoder")
_SHARDS: Final = ("apiext.api.endpoints.parameters.shard_expression",)
_READS: Final = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})


class RequestPreparation:
    """Imports, compiles and caches what most servers need soon."""

    def __init__(
        self, keep_ready: Callable[[], None], import_plugins: Callable[[], object], *, cbor: bool = False, shards: bool = False
    ) -> None:
        """Prepare nothing yet. Include CBOR and shard selectors only if they are served. `keep_ready` is `WorkerPool.keep_ready`.

        `import_plugins` imports what writes need besides, and takes some 10 ms.
        """
        self._keep_ready = keep_ready
        self._import_plugins = import_plugins
        self._modules = MODULES + (_CBOR if cbor else ()) + (_SHARDS if shards else ())
        self._rehearsal: asyncio.Task[None] | None = None
        """While writes wait for it."""

    def before_writes(self, handler: Handler) -> Handler:
        """Return a handler that lets writes wait while the code for writes is being imported. They would import it on the event loop."""

        def handle(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
            if self._rehearsal is None or request.method in _READS:
                return handler(request)
            return self._handle_later(handler, request)

        return handle

    async def _handle_later(self, handler: Handler, request: web.BaseRequest) -> web.StreamResponse:
        if self._rehearsal is not None:
            await asyncio.wait([self._rehearsal])
        return await handler(request)

    async def run(self) -> None:
        """Serve a sample definition, prepare worker processes, and import what other requests need."""
        self._rehearsal = asyncio.create_task(self._prepare_writes())
        try:
            await self._rehearsal
        finally:
            self._rehearsal = None
        await _attempt(lambda: _import(self._modules))

    async def _prepare_writes(self) -> None:
        await _attempt(_rehearse)
        await _attempt(self._import_plugins)
        # no write is under way yet, and no thread imports or compiles, so that no lock is held that the fork needs
        self._keep_ready()
        start_thread()


async def _attempt(work: Callable[[], object]) -> None:
    try:
        await aside(work)
    except Exception:  # noqa: BLE001 -- real requests do without
        _LOG.exception("preparation for the first requests failed")


def _rehearse() -> None:
    importlib.import_module(REHEARSAL).rehearse()


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)
