"""The HTTP/2 client against a scripted server."""

import asyncio

import pytest

from apiext.base.http2 import frames
from apiext.storage.etcd.http2 import connection as keepalive
from apiext.storage.etcd.http2 import grpc_status
from apiext.storage.etcd.http2.connection import WINDOW_BYTES
from apiext.storage.etcd.http2.grpc_status import RpcError
from tests.unit.storage.etcd.peer import HEADERS, TRAILERS, Peer, connected, message

END = frames.END_HEADERS | frames.END_STREAM


async def test_assembles_a_response() -> None:
    """Return the same response however it is cut into frames and reads, padded or not."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"question", 10))
        flags, stream, payload = await peer.frame(frames.DATA)
        assert (flags, payload) == (frames.END_STREAM, message(b"question"))
        whole = message(b"answer")
        padded = frames.frame(frames.DATA, frames.PADDED, stream, b"\x03" + whole[4:] + b"\0\0\0")
        answer = b"".join(
            (
                frames.frame(frames.HEADERS, 0, stream, b""),
                frames.frame(frames.CONTINUATION, frames.END_HEADERS, stream, HEADERS),
                frames.frame(frames.DATA, 0, stream, whole[:4]),
                padded,
                frames.frame(frames.HEADERS, END, stream, TRAILERS),
            )
        )
        for byte in answer:
            peer.send(bytes((byte,)))
            await asyncio.sleep(0)
        assert await call == b"answer"


async def test_raises_the_status_of_a_response() -> None:
    """Raise a status other than 0 with its code and its percent-decoded message."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        _, stream, _ = await peer.frame(frames.DATA)
        block = HEADERS + b"\0\x0bgrpc-status\x0211" + b"\0\x0cgrpc-message\x0enot%20there%21"
        peer.send(frames.frame(frames.HEADERS, END, stream, block))
        with pytest.raises(RpcError) as caught:
            await call
        assert (caught.value.code, caught.value.details) == (grpc_status.OUT_OF_RANGE, "not there!")


async def test_resets_a_call_without_an_answer() -> None:
    """Reset the stream of a call that reaches its timeout or is cancelled."""
    async with connected() as (channel, peer):
        with pytest.raises(RpcError) as caught:
            await channel.unary("/a", b"", 0.05)
        assert caught.value.code == grpc_status.DEADLINE_EXCEEDED
        assert (await peer.frame(frames.RST_STREAM))[1] == 1
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        call.cancel()
        assert (await peer.frame(frames.RST_STREAM))[1] == 3


async def test_closes_a_silent_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ping a silent server during a call, and fail the call before its timeout if no answer comes."""
    monkeypatch.setattr(keepalive, "INTERVAL_SECONDS", 0.05)
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 60))
        await peer.frame(frames.PING)
        with pytest.raises(RpcError) as caught:
            await call
        assert (caught.value.code, caught.value.details) == (grpc_status.UNAVAILABLE, "the server does not answer")


async def test_obeys_the_servers_windows() -> None:
    """Send no more than the windows of the stream and of the connection allow."""
    async with connected({frames.INITIAL_WINDOW_SIZE: 10}) as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"x" * 30, 10))
        sent = (await peer.frame(frames.DATA))[2]
        assert len(sent) == 10
        peer.send(frames.window_update(1, 5))
        sent += (await peer.frame(frames.DATA))[2]
        assert len(sent) == 15
        peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 100}))
        flags, _, rest = await peer.frame(frames.DATA)
        assert flags == frames.END_STREAM
        assert sent + rest == message(b"x" * 30)
        peer.answer(1, b"done")
        assert await call == b"done"


async def test_obeys_the_limit_of_streams() -> None:
    """Delay calls beyond the server's MAX_CONCURRENT_STREAMS."""
    async with connected({frames.MAX_CONCURRENT_STREAMS: 1}) as (channel, peer):
        calls = [asyncio.ensure_future(channel.unary("/a", b"", 10)) for _ in range(3)]
        for stream in (1, 3, 5):
            assert (await peer.frame(frames.DATA))[1] == stream
            peer.answer(stream, b"%d" % stream)
        assert await asyncio.gather(*calls) == [b"1", b"3", b"5"]


async def test_retires_a_connection_after_goaway() -> None:
    """Finish the calls that the server accepted before GOAWAY, fail the others as unprocessed, and reconnect."""
    async with connected() as (channel, peer):
        taken, left = (asyncio.ensure_future(channel.unary("/a", b"", 10)) for _ in range(2))
        await peer.frame(frames.DATA)
        await peer.frame(frames.DATA)
        peer.send(frames.frame(frames.GOAWAY, 0, 0, bytes((0, 0, 0, 1, 0, 0, 0, 0)) + b"graceful"))
        with pytest.raises(RpcError, match="graceful") as caught:
            await left
        assert (caught.value.code, caught.value.unprocessed) == (grpc_status.UNAVAILABLE, True)
        assert not channel.check_connected()
        peer.answer(1, b"yes")
        assert await taken == b"yes"
        await channel.connect()
        assert channel.check_connected()


async def test_fails_calls_of_a_lost_connection() -> None:
    """Fail the open calls of a lost connection and keep the reason."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        await peer.close()
        with pytest.raises(RpcError) as caught:
            await call
        assert caught.value.code == grpc_status.UNAVAILABLE
        assert channel.last_error


@pytest.mark.parametrize(
    "invalid",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff\xff\xff"),
        frames.frame(frames.CONTINUATION, frames.END_HEADERS, 1, HEADERS),
        frames.frame(frames.HEADERS, 0, 1, HEADERS) + frames.frame(frames.PING, 0, 0, bytes(8)),
        frames.frame(frames.WINDOW_UPDATE, 0, 0, b"1"),
        frames.frame(frames.SETTINGS, 0, 0, b"1"),
        frames.frame(frames.GOAWAY, 0, 0, b"1"),
        frames.frame(frames.DATA, frames.PADDED, 1, b"\x09abc"),
        frames.frame(frames.PING, 0, 0, bytes(8)) * 100,
    ],
)
async def test_closes_the_connection_after_invalid_bytes(invalid: bytes) -> None:
    """Fail the open calls when the server sends bytes that HTTP/2 does not allow."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        peer.send(invalid)
        with pytest.raises(RpcError):
            await call


async def test_acknowledges_pings() -> None:
    """Acknowledge pings together, after a delay: calls that follow at once do not carry an acknowledgement."""
    async with connected() as (channel, peer):
        peer.send(frames.frame(frames.PING, 0, 0, b"12345678"))
        peer.send(frames.frame(frames.PING, 0, 0, b"abcdefgh"))
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        assert await peer.frame(frames.PING) == (frames.ACK, 0, b"12345678")
        assert await peer.frame(frames.PING) == (frames.ACK, 0, b"abcdefgh")
        call.cancel()


async def test_takes_all_arrived_messages() -> None:
    """Return arrived messages together and in order, then raise the end of the stream."""
    async with connected() as (channel, peer):
        stream = await channel.duplex("/w", {"a": "b"}, 10)
        stream.send(b"one")
        assert await peer.frame(frames.DATA) == (0, 1, message(b"one"))
        peer.send(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, HEADERS))
        peer.data(1, b"".join(message(b"%d" % n) for n in range(100)))
        peer.send(frames.frame(frames.HEADERS, END, 1, TRAILERS))
        taken: list[bytes] = []
        while len(taken) < 100:
            taken += await stream.take()
        with pytest.raises(RpcError):
            await stream.take()
        assert taken == [b"%d" % n for n in range(100)]


async def test_blocks_the_server_of_a_slow_reader() -> None:
    """Grant bytes only for messages that were taken, and receive a message larger than the window."""
    async with connected() as (channel, peer):
        stream = await channel.duplex("/w", {}, 10)
        peer.send(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, HEADERS))
        half = WINDOW_BYTES // 2
        peer.data(1, message(b"a" * (half - 5)) + message(b"b" * (half - 5)))
        peer.send(frames.frame(frames.PING, 0, 0, b"12345678"))
        assert (await peer.frame(frames.PING))[0] == frames.ACK
        assert sum(map(len, await stream.take())) == WINDOW_BYTES - 10
        await _granted(peer, WINDOW_BYTES)
        large = message(b"c" * (2 * WINDOW_BYTES))
        room = WINDOW_BYTES
        while large:
            peer.data(1, large[:room])
            large = large[room:]
            if large:
                room = await _granted(peer, 1)
        (taken,) = await stream.take()
        assert len(taken) == 2 * WINDOW_BYTES
        stream.cancel()
        assert (await peer.frame(frames.RST_STREAM))[1] == 1


async def _granted(peer: Peer, least: int) -> int:
    """Return the bytes granted to the stream once they are at least the expected number."""
    total = 0
    while total < least:
        _, stream, payload = await peer.frame(frames.WINDOW_UPDATE)
        if stream:
            total += frames.read_uint32(payload)
    return total


@pytest.mark.parametrize(
    "violation, code",
    [
        (frames.settings({frames.MAX_FRAME_SIZE: 0}), frames.PROTOCOL_ERROR),
        (frames.settings({frames.MAX_FRAME_SIZE: 16_383}), frames.PROTOCOL_ERROR),
        (frames.settings({frames.MAX_FRAME_SIZE: 16_777_216}), frames.PROTOCOL_ERROR),
        (frames.settings({frames.INITIAL_WINDOW_SIZE: 2**31}), frames.FLOW_CONTROL_ERROR),
        (frames.settings({frames.ENABLE_PUSH: 1}), frames.PROTOCOL_ERROR),
        (frames.window_update(0, 2**31 - 1), frames.FLOW_CONTROL_ERROR),
        (frames.window_update(0, 0), frames.PROTOCOL_ERROR),
        (
            frames.window_update(1, 2**31 - 65_531) + frames.settings({frames.INITIAL_WINDOW_SIZE: 65_536}),
            frames.FLOW_CONTROL_ERROR,
        ),
        (frames.frame(frames.HEADERS, 0, 1, HEADERS) + frames.frame(frames.DATA, 0, 1, b"x"), frames.PROTOCOL_ERROR),
        (frames.frame(frames.DATA, 0, 0, b"x"), frames.PROTOCOL_ERROR),
        (frames.frame(frames.DATA, 0, 3, b"x"), frames.PROTOCOL_ERROR),
        (frames.frame(frames.RST_STREAM, 0, 2, bytes(4)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.PUSH_PROMISE, 0, 1, bytes(4)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.SETTINGS, 0, 1), frames.PROTOCOL_ERROR),
        (frames.frame(frames.PING, 0, 0, b"1"), frames.FRAME_SIZE_ERROR),
    ],
)
async def test_closes_the_connection_with_the_error_code(violation: bytes, code: int) -> None:
    """Send GOAWAY with RFC 9113's error code for a violation of the protocol, and fail the open calls."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        peer.send(violation)
        with pytest.raises(RpcError) as caught:
            await call
        assert (caught.value.code, caught.value.unprocessed) == (grpc_status.UNAVAILABLE, False)
        _, _, payload = await peer.frame(frames.GOAWAY)
        assert frames.read_goaway(payload)[:2] == (0, code)


@pytest.mark.parametrize("increment, code", [(0, frames.PROTOCOL_ERROR), (2**31 - 1, frames.FLOW_CONTROL_ERROR)])
async def test_resets_a_stream_with_a_wrong_window(increment: int, code: int) -> None:
    """Reset only the stream whose window increment is 0 or makes the window exceed 2^31-1."""
    async with connected() as (channel, peer):
        stream = await channel.duplex("/a", {}, 10)
        call = asyncio.ensure_future(channel.unary("/b", b"", 10))
        peer.send(frames.window_update(1, increment))
        _, reset, payload = await peer.frame(frames.RST_STREAM)
        assert (reset, frames.read_uint32(payload)) == (1, code)
        with pytest.raises(RpcError):
            await stream.take()
        peer.answer(3, b"x")
        assert await call == b"x"


async def test_ignores_reserved_bits() -> None:
    """Ignore the reserved bit of a stream identifier and of a window increment."""
    async with connected({frames.INITIAL_WINDOW_SIZE: 10}) as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"x" * 10, 10))
        await peer.frame(frames.DATA)
        reserved = 1 << 31
        peer.send(frames.window_update(reserved | 1, reserved | 5))
        flags, _, _ = await peer.frame(frames.DATA)
        assert flags == frames.END_STREAM
        peer.answer(reserved | 1, b"y")
        assert await call == b"y"


async def test_passes_a_free_stream_on() -> None:
    """Wake the next waiting call when the one that got the free stream is cancelled at the same time."""
    async with connected({frames.MAX_CONCURRENT_STREAMS: 1}) as (channel, peer):
        first = await channel.duplex("/a", {}, 10)
        calls = [asyncio.ensure_future(channel.unary("/a", b"", 30)) for _ in range(2)]
        await asyncio.sleep(0)
        first.cancel()
        calls[0].cancel()
        _, stream, _ = await peer.frame(frames.DATA)
        peer.answer(stream, b"x")
        assert await calls[1] == b"x"
