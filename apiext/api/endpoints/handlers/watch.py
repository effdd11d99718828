"""GET: watch changes (apiserver pkg/endpoints/handlers/watch.go)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp import web

from apiext.api.endpoints.handlers.object_response import table_form
from apiext.api.endpoints.handlers.watch_encoder import (
    CBOREncoder,
    EncodeError,
    ProtobufEncoder,
    RejectingEncoder,
    TransformingEncoder,
    UntypedEncoder,
)
from apiext.api.endpoints.handlers.websocket import asks_for_websocket, serve_frames
from apiext.api.endpoints.parameters.options import ListQuery, list_query
from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.parameters.selector_budget import selector_budget
from apiext.api.endpoints.parameters.shard_selector import shard_selector
from apiext.api.endpoints.request import INFO, SERVES_CBOR, WATCH_INITIALIZED, request_context
from apiext.api.endpoints.responsewriters.cached_document import accepts_gzip
from apiext.api.endpoints.responsewriters.content_encoding import is_added_by_proxy
from apiext.api.endpoints.responsewriters.event_encoder import EventEncoder
from apiext.api.endpoints.responsewriters.response import NO_HEADERS, ResponseStream
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import CBOR, CBOR_SEQUENCE, JSON, PROTOBUF, MediaType, negotiate_output, negotiate_stream
from apiext.base.meta.errors import StatusError
from apiext.base.meta.objectmeta.sharding import ShardSelector
from apiext.base.scheduling.time_slice import in_slices
from apiext.storage.interface import Event, Watch, WatchOptions
from apiext.storage.rendering.watch_queue import failed

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPRESSED_INLINE: Final = 64 * 1024
"""Bytes that the event loop compresses, in a millisecond; a thread compresses more."""
_GZIP: Final = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
_STREAM_TYPES: Final = {JSON: JSON, CBOR: CBOR_SEQUENCE}


async def watch(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Send events until the timeout, the disconnection of the client, or the end of the resource.

    Raises:
        StatusError: the request is invalid.
    """
    negotiate_output(request, scope.dialect.offers)
    asked = parse_query(request)
    with selector_budget(asked):
        query = await in_slices(list_query(asked, scope.dialect.field_label, name=request[INFO].name))
        return await _watch(request, scope, query, await shard_selector(request, asked))


async def _watch(request: web.BaseRequest, scope: Scope, query: ListQuery, shard: ShardSelector | None) -> web.StreamResponse:
    seconds = scope.watches.seconds(query.timeout_seconds)
    options = query.watch_options(shard, timeout=seconds, initialized=request.get(WATCH_INITIALIZED))
    running = await _open(request, scope, options, seconds)
    try:
        media = negotiate_stream(request, scope.dialect.offers)
        encoder = _encoder(request, scope, media)
        if encoder.is_slow:
            await encoder.ready()
        scope.watches.add(running)
        if asks_for_websocket(request):
            return await serve_frames(request, running, encoder.line, seconds, binary=media.type != JSON)
        content_type = _STREAM_TYPES.get(media.type) or f"{media.type};stream=watch"
        compressed = scope.watches.compresses and query.send_initial_events is True and query.allow_bookmarks
        return await serve_stream(request, running, encoder, seconds, content_type, compressed=compressed and _accepts_gzip(request))
    finally:
        running.close()
        scope.watches.discard(running)


async def _open(request: web.BaseRequest, scope: Scope, options: WatchOptions, seconds: float) -> Watch:
    """Open the watch. If the store does not report its revision in time, return a watch with an ERROR event.

    A separate limit applies to a revision that the client requests.
    """
    try:
        async with asyncio.timeout(None if options.resource_version else seconds):
            return await scope.rest.watch(request_context(request), options)
    except TimeoutError:
        return failed(StatusError(500, "InternalError", "context deadline exceeded"))


def _encoder(request: web.BaseRequest, scope: Scope, media: MediaType) -> EventEncoder:
    convert = media.convert
    if convert is not None and convert.kind == "PartialObjectMetadataList":
        return RejectingEncoder()
    if media.type == PROTOBUF:
        return ProtobufEncoder(scope, convert)
    if convert is None:
        encoder: EventEncoder = scope.watches.encoder
    else:
        table = table_form(request, convert) if convert.kind == "Table" else None
        encoder = TransformingEncoder(scope, convert, table)
    if media.type == CBOR:
        return CBOREncoder(encoder)
    return UntypedEncoder(encoder) if SERVES_CBOR in request else encoder


def _accepts_gzip(request: web.BaseRequest) -> bool:
    return accepts_gzip(request) and not is_added_by_proxy(request)


async def serve_stream(
    request: web.BaseRequest, running: Watch, encoder: EventEncoder, seconds: float, content_type: str, *, compressed: bool = False
) -> web.StreamResponse:
    """Send the events of a watch until it ends, the client disconnects, or so many seconds are over."""
    stream = ResponseStream(content_type=content_type, headers=_GZIP if compressed else NO_HEADERS)
    await stream.prepare(request)
    timer = asyncio.get_running_loop().call_later(seconds, running.close)
    try:
        with suppress(EncodeError):
            async for events in running:
                if encoder.is_slow:
                    await encoder.ready(events)
                await _send(stream, encoder, events, compressed=compressed)
                # an idle watch must not keep what it has sent
                del events
        await stream.write_eof()
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        timer.cancel()
    return stream


async def _send(stream: ResponseStream, encoder: EventEncoder, events: Sequence[Event], *, compressed: bool) -> None:
    for number, piece in enumerate(encoder.pieces(events)):
        if number:
            await asyncio.sleep(0)
        if compressed:
            small = len(piece.data) <= _COMPRESSED_INLINE
            piece = piece.compressed() if small else await asyncio.to_thread(piece.compressed)  # noqa: PLW2901
        await stream.write_shared(piece)
