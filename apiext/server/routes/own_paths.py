"""Routes requests for the paths below `/apiext/`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.own_paths import VERSION_MAP

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.api.endpoints.request import Handler

_BELOW: Final = f"{VERSION_MAP}/"


class OwnPaths:
    """Passes requests for the version map to `versions`, all others to `imports`."""

    def __init__(self, imports: Handler, versions: Handler) -> None:
        self._imports = imports
        self._versions = versions

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the answer of the handler for the path."""
        path = request.path
        handler = self._versions if path == VERSION_MAP or path.startswith(_BELOW) else self._imports
        return handler(request)
