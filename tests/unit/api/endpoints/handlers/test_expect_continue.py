"""Clients that send `Expect: 100-continue`."""

import asyncio
from typing import Any, cast

import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.handlers.body import read_body
from apiext.base.meta import errors
from tests.unit.api.filters.conftest import Wire


class _Body:
    """A body of one piece, or one that fails."""

    def __init__(self, data: bytes | Exception) -> None:
        self._data = data

    async def readany(self) -> bytes:
        """Return the piece."""
        if isinstance(self._data, Exception):
            raise self._data
        return self._data

    def at_eof(self) -> bool:
        """Return true: there is one piece only."""
        return True

    def is_eof(self) -> bool:
        """Return false: the piece has not arrived before it is read."""
        return False


def _request(body: _Body, **headers: str) -> tuple[web.BaseRequest, Wire]:
    wire = Wire()
    return make_mocked_request("POST", "/", headers=headers, writer=wire, payload=cast("Any", body)), wire


async def test_sends_100_continue_once() -> None:
    """Send 100 Continue once when the body is read, and do not count it as part of the response."""
    request, wire = _request(_Body(b"{}"), Expect="100-continue")

    bodies = [await read_body(request, 10) for _ in range(2)]

    assert bodies == [b"{}"] * 2
    assert (wire.data, wire.output_size) == (b"HTTP/1.1 100 Continue\r\n\r\n", 0)


async def test_reports_an_incomplete_body() -> None:
    """Return the reference's error for a body that ends early."""
    request, _ = _request(_Body(web.RequestPayloadError("invalid byte in chunk length")))

    with pytest.raises(errors.StatusError, match="invalid byte in chunk length") as failed:
        await read_body(request, 10)

    assert (failed.value.code, failed.value.reason) == (500, "")


async def test_takes_a_body_that_came_with_the_headers() -> None:
    """Return the pieces of a body that has arrived, and refuse a larger one; report one that is invalid."""
    bodies = [StreamReader(BaseProtocol(asyncio.get_running_loop()), 2**16) for _ in range(3)]
    for body in bodies:
        body.feed_data(b"{")
        body.feed_data(b"}")
        body.feed_eof()
    bodies[2].set_exception(web.RequestPayloadError("invalid byte in chunk length"))
    requests = [make_mocked_request("POST", "/", payload=body) for body in bodies]

    assert await read_body(requests[0], 2) == b"{}"
    assert await read_body(requests[0], 2) == b""
    with pytest.raises(errors.StatusError, match="limit is 1"):
        await read_body(requests[1], 1)
    with pytest.raises(errors.StatusError, match="invalid byte in chunk length"):
        await read_body(requests[2], 2)
