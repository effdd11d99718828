"""JSON on its way to the client: as YAML or indented where asked for, compressed where it is large, in pieces where it is huge.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (writers.go).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from apiext.endpoints.responsewriters.response import Reply, Stream
from apiext.endpoints.serializers.negotiation import PROTOBUF, YAML, MediaType
from apiext.meta import json_codec

if TYPE_CHECKING:
    from aiohttp import web

GZIP_THRESHOLD: Final = 128 * 1024
"""Bytes above which an answer is compressed for who takes it."""
PIECE: Final = 256 * 1024
"""Bytes that are written at once; others get the loop in between."""
_THREAD_THRESHOLD: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS


def joined(items: Iterable[bytes]) -> Iterator[bytes]:
    """Items with commas between them, in pieces of about PIECE bytes."""
    batch: list[bytes] = []
    size = 0
    first = True
    for item in items:
        batch.append(item)
        size += len(item)
        if size >= PIECE:
            yield b",".join(batch) if first else b"," + b",".join(batch)
            batch, size, first = [], 0, False
    if batch:
        yield b",".join(batch) if first else b"," + b",".join(batch)


async def send(request: web.BaseRequest, media: MediaType, parts: Sequence[bytes], *, status: int = 200) -> web.StreamResponse:
    """Write JSON, given in parts, as the media type wants it; Protobuf as it is. Raises ConnectionError when the client is gone."""
    size = sum(map(len, parts))
    if media.type == YAML or (media.pretty and media.type != PROTOBUF):
        data = b"".join(parts)
        data = await asyncio.to_thread(_formatted, data, media) if size > _THREAD_THRESHOLD else _formatted(data, media)
        parts, size = [data], len(data)
    headers = {}
    if size > GZIP_THRESHOLD and takes_gzip(request):
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        parts = await asyncio.to_thread(_compressed, parts)
        size = sum(map(len, parts))
    if size <= PIECE or request.method == "HEAD":
        return Reply(parts, status=status, content_type=media.type, headers=headers)
    stream = Stream(status=status, content_type=media.type, headers=headers, length=size)
    await stream.prepare(request)
    for piece in _pieces(parts):
        await stream.write(piece)
    await stream.write_eof()
    return stream


def _formatted(data: bytes, media: MediaType) -> bytes:
    if media.type != YAML:
        return json_codec.pretty(data)
    from apiext.endpoints.serializers import yaml_codec

    return yaml_codec.dumps(json_codec.loads(data))


def _compressed(parts: Sequence[bytes]) -> list[bytes]:
    compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
    packed = [compressor.compress(part) for part in parts]
    packed.append(compressor.flush())
    return [part for part in packed if part]


def _pieces(parts: Sequence[bytes]) -> Iterator[bytes]:
    """Parts cut or joined to about PIECE bytes."""
    batch: list[bytes] = []
    size = 0
    for part in parts:
        if size and size + len(part) > PIECE:
            yield b"".join(batch)
            batch, size = [], 0
        if len(part) > 2 * PIECE:
            view = memoryview(part)
            yield from (bytes(view[at : at + PIECE]) for at in range(0, len(part), PIECE))
        else:
            batch.append(part)
            size += len(part)
    if batch:
        yield b"".join(batch)


def takes_gzip(request: web.BaseRequest) -> bool:
    """Whether the client takes gzip."""
    accepted = request.headers.get("Accept-Encoding")
    return accepted is not None and any(token.strip() == "gzip" for token in accepted.split(","))
