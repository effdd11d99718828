"""GatheredWriter: frames of two turns of the event loop are written at once, in order, and none after the end."""

import asyncio
import math
from typing import cast

from apiext.base.http2 import frames
from apiext.base.http2.gathered_writer import GatheredWriter
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.http2.streams import UnaryStream


class _Transport:
    """Records what is written to it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


def _open() -> tuple[GatheredWriter, _Transport]:
    transport = _Transport()
    return GatheredWriter(asyncio.get_running_loop(), cast("asyncio.Transport", transport)), transport


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_frames_of_two_turns_are_written_at_once() -> None:
    """Write once what two turns of the event loop send."""
    writer, transport = _open()
    writer.write(b"a", b"b")
    await _turns(1)
    assert transport.written == []
    writer.write(b"c")
    await _turns(2)
    assert transport.written == [b"abc"]


async def test_later_frames_are_written_after_two_more_turns() -> None:
    """Start again after each write."""
    writer, transport = _open()
    for frame in (b"a", b"b"):
        writer.write(frame)
        await _turns(3)
    assert transport.written == [b"a", b"b"]


async def test_frames_that_do_not_wait_follow_what_is_gathered() -> None:
    """Keep the order of all frames."""
    writer, transport = _open()
    writer.write(b"a")
    writer.write_now(b"b")
    assert transport.written == [b"ab"]
    await _turns(3)
    assert transport.written == [b"ab"]


async def test_much_data_is_written_in_pieces() -> None:
    """Write frames of data, after what is gathered, as soon as they are many; not all of a long answer at once."""
    writer, transport = _open()
    writer.write(b"a")
    data = bytes(frames.DEFAULT_FRAME_BYTES)
    for _ in range(7):
        writer.write_data(b"h", memoryview(data))
    at_once = [len(part) for part in transport.written]
    await _turns(3)

    assert at_once == [1 + 3 * (1 + len(data)), 3 * (1 + len(data))]
    assert [len(part) for part in transport.written[2:]] == [1 + len(data)]


async def test_close_writes_what_is_gathered() -> None:
    """Lose nothing when the connection ends as planned."""
    writer, transport = _open()
    writer.write(b"last")
    writer.close()
    await _turns(3)
    assert transport.written == [b"last"]
    assert transport.closed


async def test_nothing_is_written_to_a_transport_that_has_ended() -> None:
    """Write to no transport that is closing."""
    for end in (GatheredWriter.abort, GatheredWriter.drop):
        writer, transport = _open()
        writer.write(b"lost")
        end(writer)
        await _turns(3)
        assert transport.written == []
    writer, transport = _open()
    writer.close()
    writer.write(b"late")
    await _turns(3)
    assert transport.written == []


async def test_a_connection_sends_messages_of_streams_at_once() -> None:
    """Gather calls of one frame that ask for it; send everything else without delay."""
    connection, transport = Connection(lambda *_: None), _Transport()
    connection.connection_made(cast("asyncio.Transport", transport))
    connection.data_received(frames.settings({}))
    await _turns(3)

    sizes = []
    for data, gather in ((b"x", True), (b"x", False), (bytes(frames.DEFAULT_FRAME_BYTES + 1), True)):
        transport.written.clear()
        connection.open(UnaryStream(connection.loop, math.inf), b"", data, last=True, gather=gather)
        sizes.append(len(b"".join(transport.written)))
    connection.close("")

    one_call = 2 * frames.HEADER_BYTES + 1
    assert sizes == [0, 2 * one_call, 3 * frames.HEADER_BYTES + frames.DEFAULT_FRAME_BYTES + 1]
