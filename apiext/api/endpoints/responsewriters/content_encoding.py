"""Content encoding of JSON responses: YAML or indentation on request, compression if large, several writes if huge.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (writers.go).
"""

from __future__ import annotations

import asyncio
import os
import time
import zlib
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from aiohttp import web

from apiext.api.endpoints.request import AUDIT, PROXIED_USER, audit_of
from apiext.api.endpoints.responsewriters.cached_document import accepts_gzip
from apiext.api.endpoints.responsewriters.formatting import format_parts, is_formatted
from apiext.api.endpoints.responsewriters.response import PIECE_BYTES, Reply, pieces
from apiext.api.endpoints.serializers.negotiation import MediaType

GZIP_THRESHOLD: Final = 128 * 1024
"""Size in bytes above which a response is compressed."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
_THREADS: Final = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2), thread_name_prefix="gzip")
"""More threads would take processors from the event loop during compressions of many lists."""
Encode = Callable[[], Awaitable[Sequence[bytes]]]
Share = Callable[[Hashable, Encode], Awaitable[Sequence[bytes]]]
"""Returns the result of the second argument. Responses with an equal first argument share it."""


async def _by_itself(_form: Hashable, encode: Encode) -> Sequence[bytes]:
    return await encode()


def unchanged(request: web.BaseRequest, media: MediaType, parts: Sequence[bytes], status: int) -> Reply | None:
    """Return a reply with small JSON as it is. Return None if `send` has to format, compress, audit or divide it."""
    audit = request.get(AUDIT)
    if (audit is not None and audit.records_response) or is_formatted(request, media) or sum(map(len, parts)) > PIECE_BYTES:
        return None
    if audit is not None and audit.is_context:
        audit.forming, audit.encoding = time.time_ns(), time.time_ns()
    return Reply(parts, status=status, content_type=media.type)


async def send(
    request: web.BaseRequest,
    media: MediaType,
    parts: Sequence[bytes],
    *,
    status: int = 200,
    share: Share = _by_itself,
    document: Callable[[], Sequence[bytes]] | None = None,
    moments: tuple[int, int] | None = None,
) -> web.StreamResponse:
    """Send JSON, given in parts (see format_parts), in the media type's format. Send Protobuf unchanged.

    The audit event may get the JSON, for Protobuf that which `document` returns. `moments`, in nanoseconds, are when the response's form
    was begun, and when its encoding was; by default now.

    Raises:
        ConnectionError: the client has disconnected.
    """
    audit = audit_of(request)
    if audit is not None:
        audit.forming, audit.encoding = moments or (time.time_ns(), time.time_ns())
        if audit.records_response:
            audit.response = document() if document is not None else parts
    if is_formatted(request, media):
        parts = await share((media.type, media.pretty), partial(format_parts, request, media, parts))
    size = sum(map(len, parts))
    headers = {}
    if size > GZIP_THRESHOLD and accepts_gzip(request) and not is_added_by_proxy(request):
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        parts = await share((media.type, media.pretty, "gzip"), partial(_compressed, parts))
        size = sum(map(len, parts))
    reply = Reply(parts, status=status, content_type=media.type, headers=headers)
    if size > PIECE_BYTES:
        # send inside the filters, which limit and measure requests
        if audit is None:
            await reply.prepare(request)
        else:
            with audit.tracking("response-write"):
                await reply.prepare(request)
    return reply


def is_added_by_proxy(request: web.BaseRequest) -> bool:
    """Return whether a front proxy, not its client, asks for compression: it would decompress the response for the client.

    kube-apiserver sends the headers of the client and its own in alphabetical order, then those that Go's HTTP client adds.
    """
    return request.get(PROXIED_USER) is not None and request.raw_headers[-1][0].lower() == b"accept-encoding"


async def _compressed(parts: Sequence[bytes]) -> Sequence[bytes]:
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _compress, parts)


def _compress(parts: Sequence[bytes]) -> list[bytes]:
    compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)
    packed = [compressor.compress(piece) for piece in pieces(parts)]
    packed.append(compressor.flush())
    return [part for part in packed if part]
