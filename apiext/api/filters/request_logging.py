"""Logs requests (apiserver pkg/server/httplog)."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from aiohttp import web

from apiext.api.endpoints.request import FLOW, HEADERS, INFO, USER, Handler
from apiext.api.endpoints.responsewriters.response import has_begun
from apiext.api.filters.headers import HEADER
from apiext.api.filters.impersonation import IMPERSONATOR
from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_MAX_NAME: Final = 64
"""Characters of the name of a FlowSchema or priority level in a log line."""


class RequestLogging:
    """Logs requests with user, verb, resource, code and latency: all of them, or those with a code of 500 and above.

    A request whose client disconnected is logged as 499, or as 200 if its answer had begun.
    """

    def __init__(self, handler: Handler, *, everything: bool) -> None:
        self._handler = handler
        self._everything = everything

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer. Raises what the handler raises."""
        start, code = time.perf_counter(), 500
        try:
            response = await self._handler(request)
            code = response.status
            return response
        except asyncio.CancelledError:
            # the client disconnected: the usual end of a watch
            code = 200 if has_begun(request) else 499
            raise
        finally:
            if self._everything or code >= 500:
                _log(request, code, time.perf_counter() - start)


def _log(request: web.BaseRequest, code: int, seconds: float) -> None:
    info = request[INFO]
    user, requestor = request.get(USER), request.get(IMPERSONATOR)
    fields = {
        "verb": info.verb,
        "uri": str(request.rel_url),
        "resource": f"{info.resource}.{info.group}".rstrip("."),
        "code": code,
        "latency_ms": round(seconds * 1000, 3),
        "user": user.name if user else "",
        **({"requestor": requestor.name} if requestor else {}),
        "user_agent": request.headers.get("User-Agent", ""),
        "source": request.remote or "",
        "audit_id": request[HEADERS][HEADER],
        **_flow_fields(request),
    }
    log = _LOG.warning if code >= 500 else _LOG.info
    log("request", **fields)


def _flow_fields(request: web.BaseRequest) -> dict[str, object]:
    """Return the names and seats that flow control assigned."""
    flow = request.get(FLOW)
    if flow is None:
        return {}
    found, estimate = flow
    return {
        "apf_pl": found.level.name[:_MAX_NAME],
        "apf_fs": found.schema.name[:_MAX_NAME],
        "apf_iseats": estimate.initial_seats,
        "apf_fseats": estimate.final_seats,
        "apf_additional_latency_ms": estimate.additional_latency / 1e6,
    }
