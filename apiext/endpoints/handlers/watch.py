"""GET of a stream of changes (apiserver pkg/endpoints/handlers/watch.go)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from apiext.endpoints.handlers.context import request_context
from apiext.endpoints.handlers.options import list_query
from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.request import INFO
from apiext.endpoints.responsewriters.object_response import table_form
from apiext.endpoints.responsewriters.response import Stream
from apiext.endpoints.responsewriters.watch_encoder import Form, FormError, NoLines, ProtobufFrames, TransformedLines
from apiext.endpoints.responsewriters.websocket import asks_for_websocket, serve_frames
from apiext.endpoints.serializers.negotiation import JSON, PROTOBUF, MediaType, negotiate_output, negotiate_stream
from apiext.meta.errors import StatusError
from apiext.storage.watch_queue import failed

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.storage.interface import Event, Watch, WatchOptions


async def watch(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Send events until the time is over, the client leaves, or what serves the resource ends. Raises StatusError."""
    negotiate_output(request, scope.offers)
    asked = list_query(parse_query(request), scope.field_label, watch=True, name=request[INFO].name)
    seconds = scope.watches.seconds(asked.timeout_seconds)
    running = await _opened(request, scope, asked.watch_options(timeout=seconds), seconds)
    try:
        media = negotiate_stream(request, scope.offers)
        form = _form(request, scope, media)
        scope.watches.add(running)
        if asks_for_websocket(request):
            line = form.line if isinstance(form, TransformedLines | ProtobufFrames | NoLines) else _line
            return await serve_frames(request, running, line, seconds, binary=media.type == PROTOBUF)
        content_type = JSON if media.type == JSON else f"{media.type};stream=watch"
        return await _serve(request, running, form, seconds, content_type)
    finally:
        running.close()
        scope.watches.discard(running)


async def _opened(request: web.BaseRequest, scope: Scope, options: WatchOptions, seconds: float) -> Watch:
    """The watch; one that does not begin within its time, because the store does not say where, only tells that.

    A wait for a revision that the client names has a limit of its own.
    """
    try:
        async with asyncio.timeout(None if options.resource_version else seconds):
            return await scope.rest.watch(request_context(request), options)
    except TimeoutError:
        return failed(StatusError(500, "InternalError", "context deadline exceeded"))


def _line(event: Event) -> bytes:
    return event.line


def _form(request: web.BaseRequest, scope: Scope, media: MediaType) -> Form:
    convert = media.convert
    if convert is not None and convert.kind == "PartialObjectMetadataList":
        return NoLines()
    if media.type == PROTOBUF:
        return ProtobufFrames(scope, convert)
    if convert is None:
        return scope.watches.lines
    table = table_form(request, convert) if convert.kind == "Table" else None
    return TransformedLines(scope, convert, table)


async def _serve(request: web.BaseRequest, running: Watch, form: Form, seconds: float, content_type: str) -> web.StreamResponse:
    stream = Stream(content_type=content_type)
    await stream.prepare(request)
    timer = asyncio.get_running_loop().call_later(seconds, running.close)
    try:
        with suppress(FormError):
            async for events in running:
                await stream.write_shared(form(events))
        await stream.write_eof()
    except ConnectionError:
        # The client has left; there is nobody to tell.
        pass
    finally:
        timer.cancel()
    return stream
