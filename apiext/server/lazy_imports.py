"""Deferred imports: modules load on first use. preparation.py loads what most servers use."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from apiext.api.endpoints.request import Handler


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
