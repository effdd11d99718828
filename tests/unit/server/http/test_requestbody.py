"""Bodies of requests as Go's net/http reads them."""

import asyncio

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader

from apiext.server.http.requestbody import Body, BrokenBodyError, ChunkedBody, SizedBody


def _reader() -> StreamReader:
    loop = asyncio.get_running_loop()
    return StreamReader(BaseProtocol(loop, None), 2**16, loop=loop)


def _feed(body: Body, data: bytes, size: int) -> bytes:
    """What is left of the data."""
    for start in range(0, len(data), size):
        piece = data[: start + size]
        end = body.feed(piece, start)
        if body.ended:
            return data[end:]
    return b""


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
async def test_a_length(size: int) -> None:
    """So many bytes are the body."""
    body = SizedBody(_reader(), 4)

    assert _feed(body, b"bodynext", size) == b"next"
    assert await body.reader.read() == b"body"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize(
    "data,expected",
    [
        (b"4\r\nbody\r\n0\r\n\r\n", b"body"),
        (b"0\r\n\r\n", b""),
        (b"4 \t\r\nbody\r\n0\r\n\r\n", b"body"),
        (b"3;a=b\r\nbod\r\n001;c\r\ny\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", b"body"),
        (b"A\r\n0\r\n\r\n12345\r\n00\r\n\r\n", b"0\r\n\r\n12345"),
    ],
)
async def test_chunks(data: bytes, expected: bytes, size: int) -> None:
    """Together they are the body, in whatever pieces they come."""
    body = ChunkedBody(_reader())

    assert _feed(body, data + b"next", size) == b"next"
    assert await body.reader.read() == expected


@pytest.mark.parametrize("size", [1, 3, 100_000])
@pytest.mark.parametrize(
    "data,why",
    [
        (b"zz\r\n", "invalid byte in chunk length"),
        (b"-1\r\n", "invalid byte in chunk length"),
        (b"4 ;a\r\n", "invalid byte in chunk length"),
        (b"\r\n", "empty hex number for chunk length"),
        (b";a\r\n", "empty hex number for chunk length"),
        (b"00000000000000001\r\n", "http chunk length too large"),
        (b"4\nbody", "chunked line ends with bare LF"),
        (b"4\r \nbody", "invalid CR in chunked line"),
        (b"4;" + b"a" * 5000, "header line too long"),
        (b"4\r\nbodyz\r\n", "malformed chunked encoding"),
        (b"4\r\nbody\n\n", "malformed chunked encoding"),
        (b"0\r\nA: " + b"a" * 5000, "http: suspiciously long trailer after chunked body"),
        ((b"1;" + b"a" * 4000 + b"\r\nb\r\n") * 6, "chunked encoding contains too much non-data"),
    ],
)
async def test_what_are_no_chunks(data: bytes, why: str, size: int) -> None:
    """Nothing that others might read in another way is taken."""
    body = ChunkedBody(_reader())

    with pytest.raises(BrokenBodyError, match=why):
        _feed(body, data, size)
