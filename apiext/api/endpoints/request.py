"""Keys of the values that filters attach to a request for the handlers, and what all verbs read from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from apiext.api.authorization.authorizer import Authorize
from apiext.api.flowcontrol.configuration.classifier import Classification
from apiext.api.flowcontrol.work_estimate import WorkEstimate
from apiext.base.meta import errors
from apiext.base.meta.request import Peer, RequestInfo, UserInfo
from apiext.base.workers.pool import WorkerPool
from apiext.resources.registry.request_context import RequestContext

if TYPE_CHECKING:
    from apiext.api.audit.context import AuditContext

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Handles a request. Raises StatusError for a response other than success."""


class AuditedReads(Protocol):
    """Reads that get an audit context once they need one."""

    records_response: bool
    is_context: bool

    def attached(self, request: web.BaseRequest) -> AuditContext:
        """Attach a context to one of the requests, and return it."""

    def allow(self, request: web.BaseRequest, reason: str, begun: int) -> None:
        """Note why authorization allows one of the requests; the decision was begun at a time as ARRIVED."""


def bound(handler: Handler) -> Handler:
    """Return a handler's method `__call__`: calling the method is faster than calling the object."""
    return handler if isinstance(handler, FunctionType | MethodType) else handler.__call__  # type: ignore[operator]


INFO: web.RequestKey[RequestInfo] = web.RequestKey("info", RequestInfo)
USER: web.RequestKey[UserInfo] = web.RequestKey("user", UserInfo)
PROXIED_USER: web.RequestKey[UserInfo] = web.RequestKey("proxied_user", UserInfo)
"""The user whom a front proxy named, over its own client certificate. Missing on other requests."""
AUTHORIZE: web.RequestKey[Authorize] = web.RequestKey("authorize", object)  # type: ignore[arg-type]
"""Authorizes creates by apply and update, and deletions of unreadable objects. Missing on such deletions if they are disabled."""
WARNINGS: web.RequestKey[list[str]] = web.RequestKey("warnings", list)
"""Texts for Warning headers, in order; the response writers send them."""
WORKERS: web.RequestKey[WorkerPool] = web.RequestKey("workers", WorkerPool)
"""Worker processes, for work that would hold the event loop for more than a few milliseconds."""

WATCH_INITIALIZED: web.RequestKey[Callable[[], None]] = web.RequestKey("watch_initialized", object)  # type: ignore[arg-type]
"""Called after a watch has sent its initial events. Missing if flow control does not wait for them."""

FLOW: web.RequestKey[tuple[Classification, WorkEstimate]] = web.RequestKey("flow", tuple)
"""The request's flow and its estimated work. Missing if flow control does not limit the request."""
SERVES_CBOR: web.RequestKey[bool] = web.RequestKey("serves_cbor", bool)
"""Present if the server reads and writes CBOR."""
SERVES_SHARDS: web.RequestKey[bool] = web.RequestKey("serves_shards", bool)
"""Present if the server lists and watches parts of a collection."""
QUERY: web.RequestKey[dict[str, list[str]]] = web.RequestKey("query", dict)
"""The parsed query. Missing before its first use."""
TIMEOUT: web.RequestKey[float] = web.RequestKey("timeout", float)
"""Seconds until the request times out. Missing if the client asks for no timeout."""
DEADLINE: web.RequestKey[float] = web.RequestKey("deadline", float)
"""The time at which a write is cancelled, as `time.monotonic`. Missing if it has no deadline."""
HEADERS: web.RequestKey[dict[str, str]] = web.RequestKey("headers", dict)
"""Headers that filters add to every response (Audit-Id, Cache-Control, ...)."""
PEER: web.RequestKey[Peer] = web.RequestKey("peer", Peer)
"""The client certificate of the connection, if there is one."""
ARRIVED: web.RequestKey[int] = web.RequestKey("arrived", int)
"""When the request arrived, in nanoseconds since 1970. Missing without audit."""
AUDIT: web.RequestKey[AuditContext | AuditedReads] = web.RequestKey("audit", object)  # type: ignore[arg-type]
"""The audit event of the request, or what makes it if it is needed (`audit_of`). Missing without audit, and if it is not recorded."""
PROTOCOLS: web.RequestKey[str] = web.RequestKey("protocols", str)
"""The requested WebSocket protocols except the one with a token. Missing if there was no token."""


def attached(request: web.BaseRequest) -> AuditContext:
    """Return the audit context of a request that is recorded."""
    return request[AUDIT].attached(request)


def audit_of(request: web.BaseRequest) -> AuditContext | None:
    """Return the audit context of a request, to record something in it; None if the request is not recorded."""
    audit = request.get(AUDIT)
    return audit.attached(request) if audit is not None else None


def request_context(request: web.BaseRequest) -> RequestContext:
    """Return the request's context for the registry."""
    info = request[INFO]
    return RequestContext(namespace=info.namespace, subresource=info.subresource, warnings=request[WARNINGS])


def required_name(request: web.BaseRequest) -> str:
    """Return the name in the path.

    Raises:
        StatusError: 400 if there is none.
    """
    name = request[INFO].name
    if not name:
        raise errors.bad_request("name must be provided")
    return name
