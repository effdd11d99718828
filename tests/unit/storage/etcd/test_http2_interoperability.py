"""The HTTP/2 client against `h2` as an independent peer."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from h2.settings import SettingCodes

from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import Calls
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.http2 import channel as channel_module
from apiext.storage.etcd.http2 import grpc_status
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.connection import WINDOW_BYTES
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.http2.streams import DuplexStream
from apiext.storage.etcd.servers import Servers
from hack.lib.servers.certificates import Authority
from tests.unit.storage.etcd.h2_server import H2Server, H2Stream, Handler, echo, h2_server

TXN = rpc.TxnRequest().SerializeToString()
DONE = rpc.TxnResponse(succeeded=True).SerializeToString()


@asynccontextmanager
async def connected(handler: Handler, settings: dict[SettingCodes, int] | None = None) -> AsyncGenerator[tuple[Channel, H2Server]]:
    """Yield a channel and the server's side of its connection."""
    async with h2_server(handler, settings) as (port, connections):
        channel = Channel("127.0.0.1", port, None)
        try:
            await channel.connect()
            yield channel, connections[0]
        finally:
            await channel.close()


@asynccontextmanager
async def calls(*urls: str, **options: Path) -> AsyncGenerator[Calls]:
    """Yield calls to servers."""
    servers = Servers(EtcdConfig(servers=urls, **options))  # type: ignore[arg-type]
    try:
        yield Calls(servers, 30, 5)
    finally:
        await servers.close()


def commit(stream: H2Stream) -> None:
    """Handle a transaction: answer that it was done."""
    if stream.ended:
        stream.begin()
        stream.send(DONE)
        stream.finish()


async def test_sends_the_headers_of_grpc() -> None:
    """Send the pseudo-headers and fields that gRPC requires, and decode equal headers of repeated responses."""
    async with connected(echo) as (channel, server):
        assert [await channel.unary("/service/Method", b"%d" % n, 10) for n in range(3)] == [b"0", b"1", b"2"]
        headers = server.streams[1].headers
        assert (headers[":method"], headers[":scheme"], headers[":path"]) == ("POST", "http", "/service/Method")
        assert (headers["content-type"], headers["te"]) == ("application/grpc", "trailers")
        assert headers["grpc-timeout"].endswith("m")


async def test_returns_the_status_of_a_failed_call() -> None:
    """Raise the status and the message of a response that consists of trailers only."""

    def fail(stream: H2Stream) -> None:
        if stream.ended:
            trailers = [(":status", "200"), ("grpc-status", "11"), ("grpc-message", "out%20of range")]
            stream.server.h2.send_headers(stream.id, trailers, end_stream=True)

    async with connected(fail) as (channel, _):
        with pytest.raises(RpcError) as caught:
            await channel.unary("/a", b"", 10)
        assert (caught.value.code, caught.value.details, caught.value.unprocessed) == (grpc_status.OUT_OF_RANGE, "out of range", False)


async def test_obeys_flow_control_both_ways() -> None:
    """Transfer messages larger than every window, several at once, without a violation of the server's windows."""
    large = [bytes((n,)) * (3 * WINDOW_BYTES) for n in range(3)]
    async with connected(echo, {SettingCodes.INITIAL_WINDOW_SIZE: 20_000, SettingCodes.MAX_FRAME_SIZE: 30_000}) as (channel, _):
        assert await asyncio.gather(*(channel.unary("/a", message, 60) for message in large)) == large


async def test_counts_padding_once() -> None:
    """Grant exactly the bytes of padded frames: the server's window never exceeds what the client announced."""
    largest = 0

    def send_padded(stream: H2Stream) -> None:
        nonlocal largest
        if messages := stream.messages():
            if stream.id not in begun:
                begun.add(stream.id)
                stream.begin()
            stream.send(*messages, padding=200)
        largest = max(largest, stream.server.h2.local_flow_control_window(stream.id))

    begun: set[int] = set()
    message = b"x" * 200_000
    async with connected(send_padded) as (channel, _):
        stream = await channel.duplex("/a", {}, 10)
        for _ in range(60):
            stream.send(message)
            assert await _take(stream, 1) == [message]
        stream.cancel()
    assert 0 < largest <= WINDOW_BYTES


async def _take(stream: DuplexStream, count: int) -> list[bytes]:
    taken: list[bytes] = []
    while len(taken) < count:
        taken += await stream.take()
    return taken


async def test_keeps_the_order_of_a_duplex_call() -> None:
    """Deliver the messages of a call both ways in their order while other calls are open."""

    def echo_each(stream: H2Stream) -> None:
        if stream.headers[":path"] == "/unary":
            echo(stream)
        elif messages := stream.messages():
            stream.send(*messages)
        elif not stream.ended:
            stream.begin()

    async with connected(echo_each) as (channel, _):
        stream = await channel.duplex("/duplex", {"hasleader": "true"}, 10)
        for n in range(500):
            stream.send(b"%d" % n)
        assert await channel.unary("/unary", b"x", 10) == b"x"
        assert await _take(stream, 500) == [b"%d" % n for n in range(500)]
        stream.cancel()


async def test_counts_duplex_calls_as_streams() -> None:
    """Open no more calls of both kinds than MAX_CONCURRENT_STREAMS; a waiting call proceeds when another one ends."""

    def begin(stream: H2Stream) -> None:
        if stream.headers[":path"] == "/unary":
            echo(stream)

    async with connected(begin, {SettingCodes.MAX_CONCURRENT_STREAMS: 2}) as (channel, server):
        streams = [await channel.duplex("/duplex", {}, 10) for _ in range(2)]
        with pytest.raises(RpcError) as caught:
            await channel.duplex("/duplex", {}, 0.01)
        assert (caught.value.code, caught.value.unprocessed) == (grpc_status.DEADLINE_EXCEEDED, True)
        third = asyncio.ensure_future(channel.duplex("/duplex", {}, 30))
        unary = asyncio.ensure_future(channel.unary("/unary", b"x", 30))
        await asyncio.sleep(0)
        streams[0].cancel()
        streams[1].cancel()
        assert await unary == b"x"
        (await third).cancel()
        assert server.error is None


@pytest.mark.parametrize("way", ["reset", "goaway"])
async def test_retries_a_refused_write(way: str) -> None:
    """Send a write again that the server refused with REFUSED_STREAM, or that is above the last stream of GOAWAY."""
    attempts = 0

    def refuse_first(stream: H2Stream) -> None:
        nonlocal attempts
        if stream.ended:
            attempts += 1
            if attempts > 1:
                commit(stream)
            elif way == "reset":
                stream.server.refuse(stream)
            else:
                stream.server.go_away(0)

    async with h2_server(refuse_first) as (port, _), calls(f"http://127.0.0.1:{port}") as to:
        assert (await to.write(TXN)).succeeded
    assert attempts == 2


async def test_retries_a_write_that_waited_for_a_stream() -> None:
    """Send a write on the next connection that still waited for a free stream when the connection ended; the open one fails."""
    opened = asyncio.Event()

    def hold_first(stream: H2Stream) -> None:
        if not stream.ended:
            return
        opened.set()
        if stream.server is not connections[0]:
            commit(stream)

    settings: dict[SettingCodes, int] = {SettingCodes.MAX_CONCURRENT_STREAMS: 1}
    async with h2_server(hold_first, settings) as (port, connections), calls(f"http://127.0.0.1:{port}") as to:
        first = asyncio.ensure_future(to.write(TXN))
        await opened.wait()
        second = asyncio.ensure_future(to.write(TXN))
        await asyncio.sleep(0)
        connections[0].close()
        outcomes = await asyncio.gather(first, second, return_exceptions=True)
    assert isinstance(outcomes[0], Exception)
    assert not isinstance(outcomes[1], BaseException)
    assert outcomes[1].succeeded


async def test_retries_a_write_whose_message_was_not_sent() -> None:
    """Send a write again whose message waited for the server's window when the connection ended."""
    request = rpc.TxnRequest(success=(rpc.RequestOp(request_put=rpc.PutRequest(key=b"a", value=b"x" * 200_000)),))

    def close_first(stream: H2Stream) -> None:
        if stream.server is connections[0]:
            stream.server.close()
        else:
            commit(stream)

    settings: dict[SettingCodes, int] = {SettingCodes.INITIAL_WINDOW_SIZE: 1000}
    async with h2_server(close_first, settings) as (port, connections), calls(f"http://127.0.0.1:{port}") as to:
        assert (await to.write(request.SerializeToString())).succeeded


async def test_tries_the_next_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect to the second address of a server when the first one accepts connections and sends nothing."""
    monkeypatch.setattr(channel_module, "CONNECT_SECONDS", 0.4)
    monkeypatch.setattr(channel_module, "MIN_ADDRESS_SECONDS", 0.1)
    async with h2_server(echo) as (port, _):
        with socket.create_server(("127.0.0.2", 0)) as silent:
            targets = [silent.getsockname(), ("127.0.0.1", port)]

            async def getaddrinfo(*_: object, **__: object) -> list[tuple[object, ...]]:
                return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", target) for target in targets]

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
            channel = Channel("etcd.example", port, None)
            try:
                await channel.connect()
                assert await channel.unary("/a", b"x", 10) == b"x"
            finally:
                await channel.close()


async def test_reconnects_while_certificates_are_half_written(tmp_path: Path) -> None:
    """Use the previous certificates for a connection that is made while the files are half-written: the write succeeds."""
    authority = Authority(tmp_path)
    pair, client = authority.issue("server"), authority.issue("client")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.cert, pair.key)
    tls.load_verify_locations(authority.cert)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.set_alpn_protocols(["h2"])
    files = {"cafile": authority.cert, "certfile": client.cert, "keyfile": client.key}
    async with h2_server(commit, tls=tls) as (port, connections), calls(f"https://127.0.0.1:{port}", **files) as to:
        assert (await to.write(TXN)).succeeded
        client.key.write_bytes(client.key.read_bytes()[:100])
        connections[0].go_away(1)
        assert (await to.write(TXN)).succeeded
        assert len(connections) == 2
