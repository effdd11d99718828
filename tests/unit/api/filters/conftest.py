"""Requests and their answers without a connection."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.request import HEADERS, INFO, PEER, USER, WARNINGS, Handler
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.request_info import request_info
from apiext.base.meta.request import Peer, UserInfo

ADMIN = UserInfo("admin", ("system:masters", "system:authenticated"))


class Wire:
    """A response writer that stores the written bytes."""

    def __init__(self) -> None:
        self.data = b""
        self.output_size = 0
        self.ended = False

    async def write(self, data: bytes) -> None:
        """Append data."""
        self.data += data
        self.output_size += len(data)

    async def write_eof(self, data: bytes = b"") -> None:
        """Append data, and record the end."""
        await self.write(data)
        self.ended = True


class Exchange:
    """A request and its answer."""

    def __init__(self, method: str, path: str, headers: Mapping[str, str], *, user: UserInfo | None, peer: Peer | None) -> None:
        self.wire = Wire()
        self.request: web.BaseRequest = make_mocked_request(method, path, headers=headers, writer=self.wire)
        cast("Any", self.request.protocol).audit_client = None
        self.request[HEADERS] = {"Audit-Id": "an-id"}
        self.request[INFO] = request_info(self.request)
        self.request[WARNINGS] = []
        if user is not None:
            self.request[USER] = user
        if peer is not None:
            self.request[PEER] = peer
        self.response: web.StreamResponse | None = None

    async def through(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> "Exchange":
        """Pass the request to a handler, and write its answer."""
        self.response = await handler(self.request)
        await self.response.prepare(self.request)
        await self.response.write_eof()
        return self

    @property
    def status(self) -> int:
        """Return the status code on the wire."""
        return int(self.wire.data.split(b" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers on the wire."""
        lines = self.wire.data.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return dict(line.split(": ", 1) for line in lines)

    @property
    def body(self) -> bytes:
        """Return the bytes behind the headers."""
        return self.wire.data.partition(b"\r\n\r\n")[2]


Make = Callable[..., Exchange]


@pytest.fixture
def exchange() -> Make:
    """Return a function that creates exchanges, by default of an admin."""

    def make(
        path: str = "/apis/example.com/v1/namespaces/default/widgets/a",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        user: UserInfo | None = ADMIN,
        peer: Peer | None = None,
    ) -> Exchange:
        return Exchange(method, path, headers or {}, user=user, peer=peer)

    return make


async def hello(_request: web.BaseRequest) -> web.StreamResponse:
    """Return an answer."""
    return Reply(b"hello", content_type="text/plain")


async def hangs(_request: web.BaseRequest) -> web.StreamResponse:
    """Return no answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def who(request: web.BaseRequest) -> web.StreamResponse:
    """Return the name and the groups of the request's user."""
    user = request[USER]
    return Reply(json.dumps([user.name, *user.groups]).encode())


def failing(error: Exception) -> Handler:
    """Return a handler that raises an error."""

    async def fails(_request: web.BaseRequest) -> web.StreamResponse:
        raise error

    return fails
