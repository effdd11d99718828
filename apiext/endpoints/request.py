"""What the filters attach to a request for the handlers below them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from apiext.authorization.authorizer import Verdict
from apiext.meta.request import Peer, RequestInfo, UserInfo

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Anything that answers a request; it raises StatusError for an answer other than success."""

INFO: web.RequestKey[RequestInfo] = web.RequestKey("info", RequestInfo)
USER: web.RequestKey[UserInfo] = web.RequestKey("user", UserInfo)
Authorize = Callable[[UserInfo, RequestInfo], Awaitable[Verdict]]
"""Whether a user may do something else than the request itself. Raises ReviewError."""
AUTHORIZE: web.RequestKey[Authorize] = web.RequestKey("authorize", object)  # type: ignore[arg-type]
"""Who decides about the deletion of what cannot be read; deletes have it, unless the feature is switched off."""
WARNINGS: web.RequestKey[list[str]] = web.RequestKey("warnings", list)
"""Texts for Warning headers, in order; whoever writes the response sends them."""

HEADERS: web.RequestKey[dict[str, str]] = web.RequestKey("headers", dict)
"""Response headers that the filters ask for on any answer (Audit-Id, Cache-Control, ...)."""
PEER: web.RequestKey[Peer] = web.RequestKey("peer", Peer)
"""The client certificate of the connection, where there is one."""
PROTOCOLS: web.RequestKey[str] = web.RequestKey("protocols", str)
"""The protocols that a WebSocket is asked for with, where one of them was a token: without it."""
