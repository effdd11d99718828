"""Bytes of responses: those that a response has framed itself, and those that aiohttp frames."""

from unittest.mock import AsyncMock, Mock

import pytest
from aiohttp import ClientConnectionResetError

from apiext.server.http.response_writer import ResponseWriter


def _writer() -> tuple[ResponseWriter, Mock]:
    protocol = Mock(_drain_helper=AsyncMock())
    protocol.transport.is_closing.return_value = False
    return ResponseWriter(protocol, Mock()), protocol


async def test_writes_at_once() -> None:
    """Write framed bytes as they are, and count them."""
    writer, protocol = _writer()

    await writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await writer.write(memoryview(b"body"))

    assert [bytes(call.args[0]) for call in protocol.transport.write.call_args_list] == [b"HTTP/1.1 200 OK\r\n\r\n", b"body"]
    assert writer.output_size == 23
    protocol._drain_helper.assert_not_awaited()


async def test_waits_for_slow_clients() -> None:
    """Wait until the buffer of the transport has room after 64 KiB."""
    writer, protocol = _writer()

    await writer.write(b"a" * 65536)
    protocol._drain_helper.assert_not_awaited()
    await writer.write(b"b")

    protocol._drain_helper.assert_awaited_once()


async def test_frames_chunks_where_asked() -> None:
    """Leave responses that aiohttp frames to aiohttp."""
    writer, protocol = _writer()
    writer.enable_chunking()

    await writer.write(b"body")

    assert protocol.transport.write.call_args.args == (b"4\r\nbody\r\n",)


@pytest.mark.parametrize("gone", [True, False])
async def test_fails_on_a_closed_connection(gone: bool) -> None:  # noqa: FBT001
    """Raise the error of a client that has disconnected."""
    writer, protocol = _writer()
    if gone:
        protocol.transport = None
    else:
        protocol.transport.is_closing.return_value = True

    with pytest.raises(ClientConnectionResetError):
        await writer.write(b"body")
