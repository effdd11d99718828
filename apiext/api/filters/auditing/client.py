"""The client of a request in its audit events."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol, cast

from aiohttp import hdrs
from multidict import istr

from apiext.api.audit.context import client
from apiext.api.audit.source_ips import Client, source_ips

if TYPE_CHECKING:
    from aiohttp import web


_REAL_IP: Final = istr("X-Real-Ip")
_MAX_USER_AGENT: Final = 1024
"""Characters."""
_MAX_CLIENTS: Final = 512
"""Clients that are cached."""


class _Connection(Protocol):
    """A connection of the server."""

    audit_client: tuple[str, Client] | None
    """The last User-Agent, and the client of its requests."""


def client_of(request: web.BaseRequest) -> Client:
    """Return the client of a request. Requests of a connection share it, unless a proxy names other addresses."""
    header, connection = request.headers.get, cast("_Connection", request.protocol)
    agent, forwarded_for, real_ip = header(hdrs.USER_AGENT, ""), header(hdrs.X_FORWARDED_FOR), header(_REAL_IP)
    if forwarded_for is not None or real_ip is not None:
        return _client(forwarded_for, real_ip, request.remote, _shortened(agent))
    known = connection.audit_client
    if known is None or known[0] != agent:
        known = connection.audit_client = agent, _client(None, None, request.remote, _shortened(agent))
    return known[1]


def _shortened(agent: str) -> str:
    return agent if len(agent) <= _MAX_USER_AGENT else f"{agent[:_MAX_USER_AGENT]}...TRUNCATED"


@lru_cache(maxsize=_MAX_CLIENTS)
def _client(forwarded_for: str | None, real_ip: str | None, remote: str | None, user_agent: str) -> Client:
    """Return the client of a request, given two headers, the address of its connection and the shortened User-Agent."""
    return client(source_ips(forwarded_for or "", real_ip or "", remote or ""), user_agent)
