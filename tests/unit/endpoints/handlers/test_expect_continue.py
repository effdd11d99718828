"""Clients that wait to be asked for their body."""

from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.endpoints.handlers.body import read_body
from apiext.endpoints.handlers.expect_continue import is_held_back
from apiext.endpoints.responsewriters.status import status_reply
from apiext.meta import errors
from tests.unit.filters.conftest import Wire


class _Body:
    """A body of one piece, or one that breaks off."""

    def __init__(self, data: bytes | Exception) -> None:
        self._data = data

    async def readany(self) -> bytes:
        """The piece."""
        if isinstance(self._data, Exception):
            raise self._data
        return self._data

    def at_eof(self) -> bool:
        """There is one only."""
        return True


def _request(body: _Body, **headers: str) -> tuple[web.BaseRequest, Wire]:
    wire = Wire()
    return make_mocked_request("POST", "/", headers=headers, writer=wire, payload=cast("Any", body)), wire


async def test_the_body_is_asked_for_when_it_is_read() -> None:
    """Once, and it is no part of the answer."""
    request, wire = _request(_Body(b"{}"), Expect="100-continue")
    held_back = is_held_back(request)

    bodies = [await read_body(request, 10) for _ in range(2)]

    assert (held_back, is_held_back(request), bodies) == (True, False, [b"{}"] * 2)
    assert (wire.data, wire.output_size) == (b"HTTP/1.1 100 Continue\r\n\r\n", 0)


async def test_a_refusal_before_ends_the_connection() -> None:
    """Nobody can tell the body that does not come from the next request."""
    request, wire = _request(_Body(b"{}"), Expect="100-continue")

    await status_reply(request, errors.unsupported_media_type("x")).prepare(request)

    assert b"\r\nConnection: close\r\n" in wire.data


async def test_a_body_that_breaks_off() -> None:
    """The reference does not say more than what is wrong with it."""
    request, _ = _request(_Body(web.RequestPayloadError("invalid byte in chunk length")))

    with pytest.raises(errors.StatusError, match="invalid byte in chunk length") as failed:
        await read_body(request, 10)

    assert (failed.value.code, failed.value.reason) == (500, "")
