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

from apiext.api.endpoints.request import AUDIT, PROXIED_USER, SERVES_CBOR, USER, WORKERS, audit_of
from apiext.api.endpoints.responsewriters.cached_document import accepts_gzip
from apiext.api.endpoints.responsewriters.response import PIECE_BYTES, Reply, pieces
from apiext.api.endpoints.serializers.negotiation import CBOR, JSON, PROTOBUF, YAML, MediaType
from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.time_slice import Pace

GZIP_THRESHOLD: Final = 128 * 1024
"""Size in bytes above which a response is compressed."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
_THREADS: Final = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2), thread_name_prefix="gzip")
"""More threads would take processors from the event loop during compressions of many lists."""
Encode = Callable[[], Awaitable[Sequence[bytes]]]
Share = Callable[[Hashable, Encode], Awaitable[Sequence[bytes]]]
"""Returns the result of the second argument. Responses with an equal first argument share it."""


INLINE_BYTES: Final = 64 * 1024
"""Bytes above which a worker process makes CBOR, YAML and indented JSON."""
SEARCHED_BYTES: Final = 1024 * 1024
"""Bytes up to which the event loop searches for numbers, for 3 ms at most."""
_OTHER_FORMS: Final = frozenset({CBOR, YAML})
_LIST_NAMES: Final = (b"items", b"rows")


def is_formatted(request: web.BaseRequest, media: MediaType) -> bool:
    """Return whether the media type's response differs from its JSON source, apart from compression."""
    return media.type in _OTHER_FORMS or (media.type != PROTOBUF and (media.pretty or SERVES_CBOR in request))


def formatted(data: bytes, media: MediaType) -> bytes:
    """Return JSON of one line in the media type's form: CBOR, YAML, indented JSON, or JSON with a final line break."""
    if media.type == CBOR:
        # imported on first use, as YAML below
        from apiext.base.meta.encoding import cbor_codec

        return cbor_codec.dumps(json_codec.loads(data))
    if media.type != YAML:
        return json_codec.pretty(data) if media.pretty else data + b"\n"
    # imported on first use: few clients ask for YAML
    from apiext.base.meta.encoding import yaml_codec

    return yaml_codec.dumps(json_codec.loads(data))


async def format_parts(request: web.BaseRequest, media: MediaType, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Return JSON, given in parts, in the media type's form.

    More than two parts are a list: its start, batches of items, and its end. All batches but the last end with a comma, or all commas are
    parts of their own. If the server has CBOR, its JSON keeps the types of numbers; only CBOR responses show them.
    """
    if b"," in parts:
        # a list that is not large is given with its items apart
        parts = [parts[0], b"".join(parts[1:-1]), parts[-1]]
    if media.type != CBOR and SERVES_CBOR in request:
        parts = await _untyped(request, parts)
        if media.type == JSON and not media.pretty:
            return parts
    if sum(map(len, parts)) <= INLINE_BYTES:
        return [formatted(b"".join(parts), media)]

    async def made_from(data: bytes) -> bytes:
        return await request[WORKERS].call(formatted, data, media, user=request[USER].name)

    batches = [part for part in parts[1:-1] if part]
    if not batches:
        return [await made_from(b"".join(parts))]
    if media.type == CBOR:
        from apiext.base.meta.encoding.cbor_codec import joined_lists

        lists = [await made_from(b"[%b]" % batch.removesuffix(b",")) for batch in batches]
        return joined_lists(await made_from(parts[0] + parts[-1]), lists)
    frame = await made_from(parts[0] + parts[-1])
    before, name, after = _split(frame, media)
    begin, separator, end = (name + b":\n", b"", b"") if media.type == YAML else (b'{\n  "%b": [\n' % name, b",\n", b"\n  ]\n}")
    made = [before, begin.removeprefix(b"{\n")]
    for batch in batches:
        text = await made_from(b'{"%b":[%b]}' % (name, batch.removesuffix(b",")))
        text = text.rstrip(b"\n") + b"\n" if media.type == YAML else text.rstrip(b"\n")
        if not (text.startswith(begin) and text.endswith(end)):
            # an item is nested too deeply for the form; one-line JSON is valid YAML and JSON
            return parts
        made += [text[len(begin) : len(text) - len(end)], separator]
    made[-1] = end.removesuffix(b"\n}")
    return [*made, after]


async def _untyped(request: web.BaseRequest, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Return JSON in parts with numbers in Go's form."""
    pace = Pace()

    async def made_from(data: bytes) -> bytes:
        await pace.checkpoint()
        if len(data) <= SEARCHED_BYTES and not json_codec.may_be_typed(data):
            return data
        if len(data) <= INLINE_BYTES:
            return json_codec.untyped(data)
        return await request[WORKERS].call(json_codec.untyped, data, user=request[USER].name)

    batches = parts[1:-1]
    if not batches:
        return [await made_from(b"".join(parts))]
    made = [parts[0]]
    for batch in batches:
        items = batch.removesuffix(b",")
        made.append((await made_from(b"[%b]" % items))[1:-1] + batch[len(items) :])
    return [*made, parts[-1]]


def _split(frame: bytes, media: MediaType) -> tuple[bytes, bytes, bytes]:
    """Return the text before the empty list of a formatted response, the list's name, and the text after it."""
    for name in _LIST_NAMES:
        empty = b"\n%b: []\n" % name if media.type == YAML else b'\n  "%b": []' % name
        before, found, after = frame.partition(empty)
        if found:
            return before + b"\n", name, after
    raise AssertionError("a list has items or rows")


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

    kube-apiserver sends the headers of the client and its own in alphabetical order, over HTTP/2 in any order, then those that Go's HTTP
    client adds. So one client in as many as it sends headers is taken for the proxy over HTTP/2, and gets its response as it is.
    """
    name, value = request.raw_headers[-1] if request.raw_headers else (b"", b"")
    return request.get(PROXIED_USER) is not None and name.lower() == b"accept-encoding" and value == b"gzip"


async def _compressed(parts: Sequence[bytes]) -> Sequence[bytes]:
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _compress, parts)


def _compress(parts: Sequence[bytes]) -> list[bytes]:
    compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)
    packed = [compressor.compress(piece) for piece in pieces(parts)]
    packed.append(compressor.flush())
    return [part for part in packed if part]
