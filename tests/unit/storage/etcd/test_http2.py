"""Calls over HTTP/2, against a server that may say anything."""

import asyncio

import pytest

from apiext.storage.etcd.http2 import connection, frames, grpc_status
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.http2.streams import WINDOW
from tests.unit.storage.etcd.peer import BEGIN, OK, Peer, connected, message

END = frames.END_HEADERS | frames.END_STREAM


async def test_an_answer_in_pieces() -> None:
    """An answer is the same however it is cut into frames and reads, and with padding."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"question", 10))
        flags, stream, payload = await peer.frame(frames.DATA)
        assert (flags, payload) == (frames.END_STREAM, message(b"question"))
        whole = message(b"answer")
        padded = frames.frame(frames.DATA, frames.PADDED, stream, b"\x03" + whole[4:] + b"\0\0\0")
        answer = b"".join(
            (
                frames.frame(frames.HEADERS, 0, stream, b""),
                frames.frame(frames.CONTINUATION, frames.END_HEADERS, stream, BEGIN),
                frames.frame(frames.DATA, 0, stream, whole[:4]),
                padded,
                frames.frame(frames.HEADERS, END, stream, OK),
            )
        )
        for byte in answer:
            peer.say(bytes((byte,)))
            await asyncio.sleep(0)
        assert await call == b"answer"


async def test_an_error_is_told() -> None:
    """A status other than 0 is raised with its code and its message, which is percent-encoded."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        _, stream, _ = await peer.frame(frames.DATA)
        block = BEGIN + b"\0\x0bgrpc-status\x0211" + b"\0\x0cgrpc-message\x0enot%20there%21"
        peer.say(frames.frame(frames.HEADERS, END, stream, block))
        with pytest.raises(RpcError) as caught:
            await call
        assert (caught.value.code, caught.value.details) == (grpc_status.OUT_OF_RANGE, "not there!")


async def test_a_call_without_an_answer() -> None:
    """A call ends at its time, and the server is told; so is a call that its caller gives up."""
    async with connected() as (channel, peer):
        with pytest.raises(RpcError) as caught:
            await channel.unary("/a", b"", 0.05)
        assert caught.value.code == grpc_status.DEADLINE_EXCEEDED
        assert (await peer.frame(frames.RST_STREAM))[1] == 1
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        call.cancel()
        assert (await peer.frame(frames.RST_STREAM))[1] == 3


async def test_a_server_that_falls_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call is under way the server is asked whether it is there; when it does not say so the call ends, long before its time."""
    monkeypatch.setattr(connection, "_KEEPALIVE", 0.05)
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 60))
        await peer.frame(frames.PING)
        with pytest.raises(RpcError) as caught:
            await call
        assert (caught.value.code, caught.value.details) == (grpc_status.UNAVAILABLE, "the server does not answer")


async def test_a_large_message_waits_for_room() -> None:
    """No more is sent than the server's windows allow, of the stream and of the connection."""
    async with connected({frames.INITIAL_WINDOW_SIZE: 10}) as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"x" * 30, 10))
        sent = (await peer.frame(frames.DATA))[2]
        assert len(sent) == 10
        peer.say(frames.window_update(1, 5))
        sent += (await peer.frame(frames.DATA))[2]
        assert len(sent) == 15
        peer.say(frames.settings({frames.INITIAL_WINDOW_SIZE: 100}))
        flags, _, rest = await peer.frame(frames.DATA)
        assert flags == frames.END_STREAM
        assert sent + rest == message(b"x" * 30)
        peer.answer(1, b"done")
        assert await call == b"done"


async def test_no_more_calls_than_allowed() -> None:
    """Calls beyond the number of streams that the server allows wait for their turn."""
    async with connected({frames.MAX_CONCURRENT_STREAMS: 1}) as (channel, peer):
        calls = [asyncio.ensure_future(channel.unary("/a", b"", 10)) for _ in range(3)]
        for stream in (1, 3, 5):
            assert (await peer.frame(frames.DATA))[1] == stream
            peer.answer(stream, b"%d" % stream)
        assert await asyncio.gather(*calls) == [b"1", b"3", b"5"]


async def test_a_server_that_goes_away() -> None:
    """After GOAWAY what the server has taken is answered, the rest fails at once, and the next call finds a new connection."""
    async with connected() as (channel, peer):
        taken, left = (asyncio.ensure_future(channel.unary("/a", b"", 10)) for _ in range(2))
        await peer.frame(frames.DATA)
        await peer.frame(frames.DATA)
        peer.say(frames.frame(frames.GOAWAY, 0, 0, bytes((0, 0, 0, 1, 0, 0, 0, 0)) + b"graceful"))
        with pytest.raises(RpcError, match="graceful") as caught:
            await left
        assert caught.value.code == grpc_status.UNAVAILABLE
        assert not channel.ready()
        peer.answer(1, b"yes")
        assert await taken == b"yes"
        await channel.connecting()
        assert channel.ready()


async def test_a_lost_connection() -> None:
    """Calls under way on a connection that is lost fail, and the reason is kept."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        await peer.close()
        with pytest.raises(RpcError) as caught:
            await call
        assert caught.value.code == grpc_status.UNAVAILABLE
        assert channel.trouble


@pytest.mark.parametrize(
    "nonsense",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff\xff\xff"),
        frames.frame(frames.CONTINUATION, frames.END_HEADERS, 1, BEGIN),
        frames.frame(frames.HEADERS, 0, 1, BEGIN) + frames.frame(frames.PING, 0, 0, bytes(8)),
        frames.frame(frames.WINDOW_UPDATE, 0, 0, b"1"),
        frames.frame(frames.SETTINGS, 0, 0, b"1"),
        frames.frame(frames.GOAWAY, 0, 0, b"1"),
        frames.frame(frames.DATA, frames.PADDED, 1, b"\x09abc"),
        frames.frame(frames.PING, 0, 0, bytes(8)) * 100,
    ],
)
async def test_nonsense(nonsense: bytes) -> None:
    """What HTTP/2 does not allow ends the connection, and the calls on it."""
    async with connected() as (channel, peer):
        call = asyncio.ensure_future(channel.unary("/a", b"", 10))
        await peer.frame(frames.DATA)
        peer.say(nonsense)
        with pytest.raises(RpcError):
            await call


async def test_pings_are_answered() -> None:
    """A ping is acknowledged although no call follows."""
    async with connected() as (_, peer):
        peer.say(frames.frame(frames.PING, 0, 0, b"12345678"))
        assert await peer.frame(frames.PING) == (frames.ACK, 0, b"12345678")


async def test_messages_both_ways() -> None:
    """What has arrived is taken together, in order; then comes the end."""
    async with connected() as (channel, peer):
        stream = channel.duplex("/w", {"a": "b"})
        stream.send(b"one")
        assert await peer.frame(frames.DATA) == (0, 1, message(b"one"))
        peer.say(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, BEGIN))
        peer.data(1, b"".join(message(b"%d" % n) for n in range(100)))
        peer.say(frames.frame(frames.HEADERS, END, 1, OK))
        taken: list[bytes] = []
        while len(taken) < 100:
            taken += await stream.take()
        with pytest.raises(RpcError):
            await stream.take()
        assert taken == [b"%d" % n for n in range(100)]


async def test_a_slow_reader_holds_the_server_back() -> None:
    """Room is granted anew only for what has been taken; a message larger than the window still arrives."""
    async with connected() as (channel, peer):
        stream = channel.duplex("/w", {})
        peer.say(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, BEGIN))
        half = WINDOW // 2
        peer.data(1, message(b"a" * (half - 5)) + message(b"b" * (half - 5)))
        peer.say(frames.frame(frames.PING, 0, 0, b"12345678"))
        assert (await peer.frame(frames.PING))[0] == frames.ACK
        assert sum(map(len, await stream.take())) == WINDOW - 10
        await _granted(peer, WINDOW)
        large = message(b"c" * (2 * WINDOW))
        room = WINDOW
        while large:
            peer.data(1, large[:room])
            large = large[room:]
            if large:
                room = await _granted(peer, 1)
        (taken,) = await stream.take()
        assert len(taken) == 2 * WINDOW
        stream.cancel()
        assert (await peer.frame(frames.RST_STREAM))[1] == 1


async def _granted(peer: Peer, least: int) -> int:
    """The room that the stream is given, when it is as much as is expected."""
    total = 0
    while total < least:
        _, stream, payload = await peer.frame(frames.WINDOW_UPDATE)
        if stream:
            total += frames.number(payload)
    return total
