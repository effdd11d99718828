"""Content encoding of JSON responses: YAML or indented on request, compressed if large, written in pieces if huge.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (writers.go).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from aiohttp import web

from apiext.endpoints.responsewriters.response import Reply, ResponseStream
from apiext.endpoints.serializers.negotiation import PROTOBUF, YAML, MediaType
from apiext.meta import background, json_codec

GZIP_THRESHOLD: Final = 128 * 1024
"""Size in bytes above which a response is compressed."""
PIECE_BYTES: Final = 256 * 1024
"""Size of the pieces of a huge response; other tasks run between them."""
_THREAD_THRESHOLD: Final = 64 * 1024
"""Size in bytes above which YAML and indented JSON are made in a thread."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS


def join_items(items: Iterable[bytes]) -> Iterator[bytes]:
    """Join items with commas, in pieces of about PIECE_BYTES."""
    batch: list[bytes] = []
    size, before = 0, b""
    for item in items:
        batch.append(item)
        size += len(item)
        if size >= PIECE_BYTES:
            yield before + b",".join(batch)
            batch, size, before = [], 0, b","
    if batch:
        yield before + b",".join(batch)


async def send(request: web.BaseRequest, media: MediaType, parts: Sequence[bytes], *, status: int = 200) -> web.StreamResponse:
    """Send JSON, given in parts, in the media type's format; send Protobuf unchanged.

    Raises:
        ConnectionError: the client has disconnected.
    """
    size = sum(map(len, parts))
    if media.type == YAML or (media.pretty and media.type != PROTOBUF):
        data = b"".join(parts)
        data = await background.begin(formatted, data, media) if size > _THREAD_THRESHOLD else formatted(data, media)
        parts, size = [data], len(data)
    headers = {}
    if size > GZIP_THRESHOLD and takes_gzip(request):
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        parts = await asyncio.to_thread(_compress, parts)
        size = sum(map(len, parts))
    if size <= PIECE_BYTES or request.method == "HEAD":
        return Reply(parts, status=status, content_type=media.type, headers=headers)
    stream = ResponseStream(status=status, content_type=media.type, headers=headers, length=size)
    await stream.prepare(request)
    for piece in _pieces(parts):
        await stream.write(piece)
    await stream.write_eof()
    return stream


def formatted(data: bytes, media: MediaType) -> bytes:
    """Return JSON of one line in the form of the media type: as YAML, indented, or with a final line break."""
    if media.type != YAML:
        return json_codec.pretty(data) if media.pretty else data + b"\n"
    # imported on first use: few clients ask for YAML
    from apiext.endpoints.serializers import yaml_codec

    return yaml_codec.dumps(json_codec.loads(data))


def _compress(parts: Sequence[bytes]) -> list[bytes]:
    compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)
    packed = [compressor.compress(part) for part in parts]
    packed.append(compressor.flush())
    return [part for part in packed if part]


def _pieces(parts: Sequence[bytes]) -> Iterator[bytes]:
    """Cut or join parts to about PIECE_BYTES."""
    batch: list[bytes] = []
    size = 0
    for part in parts:
        if size and size + len(part) > PIECE_BYTES:
            yield b"".join(batch)
            batch, size = [], 0
        if len(part) > 2 * PIECE_BYTES:
            view = memoryview(part)
            yield from (bytes(view[at : at + PIECE_BYTES]) for at in range(0, len(part), PIECE_BYTES))
        else:
            batch.append(part)
            size += len(part)
    if batch:
        yield b"".join(batch)


def takes_gzip(request: web.BaseRequest) -> bool:
    """Return whether Accept-Encoding has gzip without parameters, as the reference checks it."""
    accepted = request.headers.get("Accept-Encoding")
    return accepted is not None and any(token.strip() == "gzip" for token in accepted.split(","))
