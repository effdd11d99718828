"""What is not needed to be ready is loaded when it is first needed, or right after the start, whatever is sooner."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Final

from aiohttp import web

from apiext.endpoints.request import Handler

_SOON: Final = (
    "apiext.serving.builder",
    "apiext.definitions.validation.definition",
    "apiext.definitions.validation.warnings",
    "apiext.openapi.handler",
)
"""What the first definition, the first custom resource and kubectl's first visit need."""


class LateHandler:
    """A handler that is made with the first request for it."""

    def __init__(self, make: Callable[[], Handler]) -> None:
        self._make = make
        self._handler: Handler | None = None

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Have the handler answer."""
        if self._handler is None:
            self._handler = self._make()
        return await self._handler(request)


async def load_the_rest() -> None:
    """Load it in a thread, while requests are served."""
    await asyncio.to_thread(lambda: [importlib.import_module(name) for name in _SOON])
