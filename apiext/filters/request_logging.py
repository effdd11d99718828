"""Logs requests (apiserver pkg/server/httplog)."""

from __future__ import annotations

import time
from typing import Final

from aiohttp import web

from apiext.endpoints.request import HEADERS, INFO, USER, Handler
from apiext.filters.audit_id import HEADER
from apiext.meta.log import get_logger

_LOG: Final = get_logger(__name__)


class RequestLogging:
    """Logs requests with user, verb, resource, code and latency: all of them, or only those that failed inside the server."""

    def __init__(self, handler: Handler, *, everything: bool) -> None:
        self._handler = handler
        self._everything = everything

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on."""
        start = time.perf_counter()
        response = await self._handler(request)
        if self._everything or response.status >= 500:
            _log(request, response.status, time.perf_counter() - start)
        return response


def _log(request: web.BaseRequest, code: int, seconds: float) -> None:
    info = request[INFO]
    user = request.get(USER)
    fields = {
        "verb": info.verb,
        "uri": str(request.rel_url),
        "resource": f"{info.resource}.{info.group}".rstrip("."),
        "code": code,
        "latency_ms": round(seconds * 1000, 3),
        "user": user.name if user else "",
        "user_agent": request.headers.get("User-Agent", ""),
        "source": request.remote or "",
        "audit_id": request[HEADERS][HEADER],
    }
    log = _LOG.warning if code >= 500 else _LOG.info
    log("request", **fields)
