"""Tests that errors of closed connections are not logged, and all others are."""

import asyncio
from typing import Any

import pytest
import uvloop

from apiext.server.loop_errors import ignore_closed_connections


@pytest.mark.parametrize(
    "context,lines",
    [
        ({"exception": RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")}, 0),
        ({"exception": RuntimeError("other")}, 1),
        ({"exception": ValueError("the handler is closed")}, 1),
        ({}, 1),
    ],
    ids=["closed", "other", "other-type", "none"],
)
def test_errors_of_closed_connections(context: dict[str, Any], lines: int, caplog: pytest.LogCaptureFixture) -> None:
    """Log an error unless a closed transport raised it."""

    async def report() -> None:
        ignore_closed_connections()
        asyncio.get_running_loop().call_exception_handler({"message": "Fatal error on SSL protocol"} | context)

    asyncio.run(report())

    assert len(caplog.records) == lines


def test_text_of_closed_transports() -> None:
    """Know the text that uvloop has for a closed transport."""

    async def write() -> None:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.transport.abort()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        server.close()
        writer.transport.set_write_buffer_limits(1)

    with pytest.raises(RuntimeError, match="the handler is closed"):
        uvloop.run(write())
