"""Cross-origin resource sharing (apiserver pkg/server/filters/cors.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, Handler
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.before_request import FilterStep

_GRANTS: Final = {
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
    "Access-Control-Allow-Headers": (
        "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
    ),
    "Access-Control-Expose-Headers": "Date",
    "Access-Control-Allow-Credentials": "true",
}


class CORS(FilterStep):
    """Grants access to origins in which a pattern has a match, and answers their preflight requests."""

    def __init__(self, handler: Handler, *, origins: Sequence[Any]) -> None:
        super().__init__(handler)
        self._origins = tuple(origins)

    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Set the headers of a granted origin; return the answer to a preflight request."""
        origin = request.headers.get("Origin", "")
        if origin and any(pattern.search(origin) for pattern in self._origins):
            request[HEADERS].update({"Access-Control-Allow-Origin": origin, **_GRANTS})
            if request.method == "OPTIONS":
                return Reply(status=204)
        return None
