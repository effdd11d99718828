"""Tests that errors of closed connections are not logged, and all others are."""

import asyncio
import gc
import socket
import ssl
from typing import Any

import pytest
import uvloop

from apiext.server.loop_errors import ignore_closed_connections


@pytest.mark.parametrize(
    "context,lines",
    [
        ({"exception": RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")}, 0),
        ({"exception": ConnectionResetError(), "future": object()}, 0),
        ({"exception": ConnectionResetError()}, 1),
        ({"exception": RuntimeError("other")}, 1),
        ({"exception": ValueError("the handler is closed")}, 1),
        ({}, 1),
    ],
    ids=["closed", "unawaited", "reset", "other", "other-type", "none"],
)
def test_errors_of_closed_connections(context: dict[str, Any], lines: int, caplog: pytest.LogCaptureFixture) -> None:
    """Log an error unless a closed transport raised it, or it is that of a future that nobody awaits."""

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


def test_handshake_that_fails_while_it_is_cancelled() -> None:
    """Know the turn of the loop in which uvloop reports a future of its own that nobody awaits."""
    reported: list[dict[str, Any]] = []

    async def connect() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context))
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
            client.setblocking(False)
            await loop.sock_connect(client, server.getsockname())
            server.accept()[0].close()
            assert await loop.sock_recv(client, 1) == b""
            making = loop.create_connection(asyncio.Protocol, sock=client, ssl=ssl.create_default_context(), server_hostname="server")
            opening = asyncio.ensure_future(making)
            for _ in range(2):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])

    uvloop.run(connect())
    gc.collect()

    assert [(type(one["exception"]), type(one["future"])) for one in reported] == [(ConnectionResetError, asyncio.Future)]
