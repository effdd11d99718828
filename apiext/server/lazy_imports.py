"""Deferred imports: modules load on first use, or in a thread once the server is ready."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Final

from aiohttp import web

from apiext.endpoints.request import Handler

_PRELOADED: Final = (
    "apiext.serving.builder",
    "apiext.definitions.validation.definition",
    "apiext.definitions.validation.warnings",
    "apiext.openapi.handler",
    "apiext.endpoints.serializers.yaml_codec",
    "apiext.server.observability.log_lines",
)
"""Modules for the first definition, custom resource, request of kubectl, YAML body and log event."""
_CBOR: Final = ("apiext.meta.encoding.cbor_codec", "apiext.endpoints.serializers.cbor_decoder")


class LazyHandler:
    """A handler that its first request constructs."""

    def __init__(self, make: Callable[[], Handler]) -> None:
        self._make = make
        self._handler: Handler | None = None

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer. Raises what the handler raises."""
        if self._handler is None:
            self._handler = self._make()
        return await self._handler(request)


async def preload_modules(*, cbor: bool) -> None:
    """Import the modules in a thread while the server answers requests; those of CBOR only with `cbor`."""
    names = _PRELOADED + _CBOR if cbor else _PRELOADED
    await asyncio.to_thread(lambda: [importlib.import_module(name) for name in names])
