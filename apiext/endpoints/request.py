"""Keys of the values that filters attach to a request for the handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import FunctionType, MethodType
from typing import TypeVar

from aiohttp import web

from apiext.authorization.authorizer import Authorize
from apiext.flowcontrol.configuration.classifier import Classification
from apiext.flowcontrol.estimation.estimate import WorkEstimate
from apiext.meta.request import Peer, RequestInfo, UserInfo
from apiext.workers.pool import WorkerPool

_Value = TypeVar("_Value")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Handles a request. Raises StatusError for a response other than success."""


def bound(handler: Handler) -> Handler:
    """Return the method `__call__` of a handler that is an object: calling a method takes less time than calling its object."""
    return handler if isinstance(handler, FunctionType | MethodType) else handler.__call__  # type: ignore[operator]


INFO: web.RequestKey[RequestInfo] = web.RequestKey("info", RequestInfo)
USER: web.RequestKey[UserInfo] = web.RequestKey("user", UserInfo)
AUTHORIZE: web.RequestKey[Authorize] = web.RequestKey("authorize", object)  # type: ignore[arg-type]
"""The authorizer of applies and updates that create, and of deletions of unreadable objects, which lack it where they are disabled."""
WARNINGS: web.RequestKey[list[str]] = web.RequestKey("warnings", list)
"""Texts for Warning headers, in order; the response writers send them."""
WORKERS: web.RequestKey[WorkerPool] = web.RequestKey("workers", WorkerPool)
"""The processes for work that would hold the event loop for more than a few milliseconds."""

WATCH_INITIALIZED: web.RequestKey[Callable[[], None]] = web.RequestKey("watch_initialized", object)  # type: ignore[arg-type]
"""Called when a watch has sent its initial events; missing if flow control does not wait for them."""

FLOW: web.RequestKey[tuple[Classification, WorkEstimate]] = web.RequestKey("flow", tuple)
"""What flow control found; missing if it does not limit the request."""
SERVES_CBOR: web.RequestKey[bool] = web.RequestKey("serves_cbor", bool)
"""Present if the server reads and writes CBOR."""
QUERY: web.RequestKey[dict[str, list[str]]] = web.RequestKey("query", dict)
"""The parsed query; missing before it is first used."""
TIMEOUT: web.RequestKey[float] = web.RequestKey("timeout", float)
"""Seconds after which the request times out; missing if the client does not ask for a timeout."""
HEADERS: web.RequestKey[dict[str, str]] = web.RequestKey("headers", dict)
"""Headers that filters add to every response (Audit-Id, Cache-Control, ...)."""
PEER: web.RequestKey[Peer] = web.RequestKey("peer", Peer)
"""The client certificate of the connection, if there is one."""
PROTOCOLS: web.RequestKey[str] = web.RequestKey("protocols", str)
"""The requested WebSocket protocols without the one that was a token; missing if none was."""


def attach(request: web.BaseRequest, key: web.RequestKey[_Value], value: _Value) -> None:
    """Attach a value to a request."""
    request[key] = value
