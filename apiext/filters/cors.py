"""Lets scripts of other origins in (apiserver pkg/server/filters/cors.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from apiext.endpoints.request import HEADERS, Handler
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.step import Step

_GRANTS: Final = {
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
    "Access-Control-Allow-Headers": (
        "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
    ),
    "Access-Control-Expose-Headers": "Date",
    "Access-Control-Allow-Credentials": "true",
}


class CORS(Step):
    """Grants access to origins that one of the patterns is found in, and answers their preflight requests."""

    def __init__(self, handler: Handler, *, origins: Sequence[Any]) -> None:
        super().__init__(handler)
        self._origins = tuple(origins)

    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Grant access; answer a preflight."""
        origin = request.headers.get("Origin", "")
        if origin and any(pattern.search(origin) for pattern in self._origins):
            request[HEADERS].update({"Access-Control-Allow-Origin": origin, **_GRANTS})
            if request.method == "OPTIONS":
                return Reply(status=204)
        return None
