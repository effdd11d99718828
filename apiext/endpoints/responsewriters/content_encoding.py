"""Content encoding of JSON responses: YAML or indented on request, compressed if large, written in pieces if huge.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (writers.go).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from apiext.endpoints.request import USER, WORKERS
from apiext.endpoints.responsewriters.response import PIECE_BYTES, Reply, pieces
from apiext.endpoints.serializers.negotiation import PROTOBUF, YAML, MediaType
from apiext.meta import json_codec

GZIP_THRESHOLD: Final = 128 * 1024
"""Size in bytes above which a response is compressed."""
_INLINE_BYTES: Final = 64 * 1024
"""Size in bytes above which YAML and indented JSON are made in a worker process."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS


async def send(request: web.BaseRequest, media: MediaType, parts: Sequence[bytes], *, status: int = 200) -> web.StreamResponse:
    """Send JSON, given in parts, in the media type's format; send Protobuf unchanged.

    Raises:
        ConnectionError: the client has disconnected.
    """
    size = sum(map(len, parts))
    if media.type == YAML or (media.pretty and media.type != PROTOBUF):
        data = b"".join(parts)
        if size > _INLINE_BYTES:
            data = await request[WORKERS].call(formatted, data, media, user=request[USER].name)
        else:
            data = formatted(data, media)
        parts, size = [data], len(data)
    headers = {}
    if size > GZIP_THRESHOLD and takes_gzip(request):
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        parts = await asyncio.to_thread(_compress, parts)
        size = sum(map(len, parts))
    reply = Reply(parts, status=status, content_type=media.type, headers=headers)
    if size > PIECE_BYTES:
        # within the filters, which limit and measure requests
        await reply.prepare(request)
    return reply


def formatted(data: bytes, media: MediaType) -> bytes:
    """Return JSON of one line in the form of the media type: as YAML, indented, or with a final line break."""
    if media.type != YAML:
        return json_codec.pretty(data) if media.pretty else data + b"\n"
    # imported on first use: few clients ask for YAML
    from apiext.endpoints.serializers import yaml_codec

    return yaml_codec.dumps(json_codec.loads(data))


def _compress(parts: Sequence[bytes]) -> list[bytes]:
    compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)
    packed = [compressor.compress(piece) for piece in pieces(parts)]
    packed.append(compressor.flush())
    return [part for part in packed if part]


def takes_gzip(request: web.BaseRequest) -> bool:
    """Return whether Accept-Encoding has gzip without parameters, as the reference checks it."""
    accepted = request.headers.get("Accept-Encoding")
    return accepted is not None and any(token.strip() == "gzip" for token in accepted.split(","))
