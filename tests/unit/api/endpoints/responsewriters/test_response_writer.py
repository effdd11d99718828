"""The writer of responses that frame themselves."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp.base_protocol import BaseProtocol

from apiext.api.endpoints.responsewriters.response import ResponseWriter


class _Transport:
    """A transport that stores what is written."""

    def __init__(self) -> None:
        self.data = b""
        self.closing = False

    def is_closing(self) -> bool:
        """Return whether the transport is closing."""
        return self.closing

    def write(self, data: bytes) -> None:
        """Store data."""
        self.data += data


def _writer(transport: _Transport | None) -> ResponseWriter:
    loop = cast("asyncio.AbstractEventLoop", None)
    return ResponseWriter(cast("BaseProtocol", cast("Any", SimpleNamespace(transport=transport))), loop)


def test_writes_at_once_and_counts() -> None:
    """Write bytes unchanged, and count them."""
    transport = _Transport()
    writer = _writer(transport)
    waits = [writer.send(b"head"), writer.send(b"body")]

    assert transport.data == b"headbody"
    assert writer.output_size == 8
    assert waits == [False, False]


def test_asks_for_drain_after_much() -> None:
    """Ask the caller to wait once for each 64 KiB."""
    writer = _writer(_Transport())

    assert [writer.send(b"x" * 40_000) for _ in range(4)] == [False, True, False, True]


@pytest.mark.parametrize("is_gone", [True, False])
def test_refuses_to_write_to_a_closed_connection(is_gone: bool) -> None:  # noqa: FBT001
    """Raise ConnectionError if the client has disconnected, and count nothing."""
    transport = _Transport()
    transport.closing = True
    writer = _writer(None if is_gone else transport)
    with pytest.raises(ConnectionError):
        writer.send(b"x")

    assert writer.output_size == 0
