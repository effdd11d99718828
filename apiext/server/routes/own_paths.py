"""Routes requests for the paths below `/apiext/`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.own_paths import VERSION_MAP
from apiext.base.meta.host_annotations import HOLD_PATH

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.api.endpoints.request import Handler

_BELOW: Final = f"{VERSION_MAP}/"


class OwnPaths:
    """Passes requests for the version map to `versions`, the host's reviews of held writes to `holds`, all others to `imports`."""

    def __init__(self, imports: Handler, holds: Handler, versions: Handler) -> None:
        self._imports = imports
        self._holds = holds
        self._versions = versions

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the answer of the handler for the path."""
        path = request.path
        if path == HOLD_PATH:
            return self._holds(request)
        handler = self._versions if path == VERSION_MAP or path.startswith(_BELOW) else self._imports
        return handler(request)
