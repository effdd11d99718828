"""Preparation for the first requests, in a thread once the server is ready: it neither delays the start nor holds the event loop."""

from __future__ import annotations

import asyncio
import importlib
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

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
QUIET_SECONDS: Final = 0.25
"""Seconds without a new write after which a fork disturbs nobody: each page of memory that is written after it is copied first."""
BUSY_SECONDS: Final = 3.0
"""Seconds after which writes no longer delay the fork."""


class Workers(Protocol):
    """Worker processes, as a `WorkerPool` has them."""

    def fork_on_demand(self) -> None:
        """Fork processes from this one from now on."""

    def keep_ready(self) -> None:
        """Keep a process ready from now on."""


class RequestPreparation:
    """Imports, compiles and caches what most servers need soon."""

    def __init__(self, workers: Workers, import_plugins: Callable[[], object], *, cbor: bool = False, shards: bool = False) -> None:
        """Prepare nothing yet. Include CBOR and shard selectors only if they are served.

        `import_plugins` imports what writes need besides, and takes some 10 ms.
        """
        self._workers = workers
        self._import_plugins = import_plugins
        self._modules = MODULES + (_CBOR if cbor else ()) + (_SHARDS if shards else ())
        self._rehearsal: asyncio.Task[None] | None = None
        """While writes wait for it."""
        self._rehearsed = asyncio.Event()
        self._settled = False
        """Whether all is prepared."""
        self._last_write = -math.inf

    def before_writes(self, handler: Handler) -> Handler:
        """Return a handler that lets writes wait while the code for writes is being imported. They would import it on the event loop."""

        def handle(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
            if self._settled or request.method in _READS:
                return handler(request)
            self._last_write = asyncio.get_running_loop().time()
            return handler(request) if self._rehearsal is None else self._handle_later(handler, request)

        return handle

    async def _handle_later(self, handler: Handler, request: web.BaseRequest) -> web.StreamResponse:
        if self._rehearsal is not None:
            await asyncio.wait([self._rehearsal])
        return await handler(request)

    async def run(self) -> None:
        """Serve a sample definition, and import what other requests need."""
        self._rehearsal = asyncio.create_task(self._prepare_writes())
        try:
            await self._rehearsal
        finally:
            self._rehearsal = None
            self._rehearsed.set()
        await _attempt(lambda: _import(self._modules))

    async def keep_processes(self) -> None:
        """Keep a worker process ready after the rehearsal, once no write has come for a short time."""
        await self._rehearsed.wait()
        loop = asyncio.get_running_loop()
        latest = loop.time() + BUSY_SECONDS
        while (seconds := min(self._last_write + QUIET_SECONDS, latest) - loop.time()) > 0:  # noqa: ASYNC110 -- time passes without an event
            await asyncio.sleep(seconds)
        self._settled = True
        self._workers.keep_ready()
        start_thread()

    async def _prepare_writes(self) -> None:
        await _attempt(_rehearse)
        await _attempt(self._import_plugins)
        self._workers.fork_on_demand()


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
