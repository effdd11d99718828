"""Requests as filters see them."""

from collections.abc import Awaitable, Callable, Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.endpoints.request import HEADERS, INFO, PEER, USER, WARNINGS
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.request_info import request_info
from apiext.meta.request import Peer, UserInfo

ADMIN = UserInfo("admin", ("system:masters", "system:authenticated"))


class Wire:
    """Stands for the connection: keeps what is written."""

    def __init__(self) -> None:
        self.data = b""
        self.output_size = 0
        self.ended = False

    async def write(self, data: bytes) -> None:
        """Keep it."""
        self.data += data
        self.output_size += len(data)

    async def write_eof(self, data: bytes = b"") -> None:
        """Note the end."""
        await self.write(data)
        self.ended = True


class Exchange:
    """A request, and what came back."""

    def __init__(self, method: str, path: str, headers: Mapping[str, str], *, user: UserInfo | None, peer: Peer | None) -> None:
        self.wire = Wire()
        self.request: web.BaseRequest = make_mocked_request(method, path, headers=headers, writer=self.wire)
        self.request[HEADERS] = {"Audit-Id": "an-id"}
        self.request[INFO] = request_info(self.request)
        self.request[WARNINGS] = []
        if user is not None:
            self.request[USER] = user
        if peer is not None:
            self.request[PEER] = peer
        self.response: web.StreamResponse | None = None

    async def through(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> "Exchange":
        """Send it through a handler and write the answer."""
        self.response = await handler(self.request)
        await self.response.prepare(self.request)
        await self.response.write_eof()
        return self

    @property
    def status(self) -> int:
        """The code on the wire."""
        return int(self.wire.data.split(b" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        """The headers on the wire."""
        lines = self.wire.data.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return dict(line.split(": ", 1) for line in lines)

    @property
    def body(self) -> bytes:
        """What follows the headers."""
        return self.wire.data.partition(b"\r\n\r\n")[2]


Make = Callable[..., Exchange]


@pytest.fixture
def exchange() -> Make:
    """Makes requests, of an admin unless told otherwise."""

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
    """A handler that answers."""
    return Reply(b"hello", content_type="text/plain")
