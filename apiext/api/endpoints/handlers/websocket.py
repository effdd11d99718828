"""Watches over WebSocket, one frame an event, for browsers and other clients that cannot read single HTTP chunks.

Mirrors apiserver pkg/endpoints/handlers/watch.go (HandleWS).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from apiext.api.endpoints.handlers.watch_encoder import EncodeError
from apiext.api.endpoints.request import AUDIT, PROTOCOLS
from apiext.api.endpoints.responsewriters.response import Reply, started
from apiext.storage.interface import Event, Watch

_CLOSE_SECONDS: Final = 1.0
"""Seconds that the client may take to answer the close frame. The reference does not wait."""


def asks_for_websocket(request: web.BaseRequest) -> bool:
    """Return whether the request is a WebSocket handshake."""
    return request.method == hdrs.METH_GET and upgrades(request.headers)


def upgrades(headers: Mapping[str, str]) -> bool:
    """Return whether the headers ask for an upgrade to WebSocket."""
    if headers.get(hdrs.UPGRADE, "").lower() != "websocket":
        return False
    return "upgrade" in headers.get(hdrs.CONNECTION, "").lower()


async def serve_frames(
    request: web.BaseRequest, running: Watch, line: Callable[[Event], bytes], seconds: float, *, binary: bool = False
) -> web.StreamResponse:
    """Send events until the watch ends, `seconds` are over, or the client disconnects. Ignore the client's frames."""
    protocol = _protocols(request).strip()
    socket = web.WebSocketResponse(protocols=(protocol,) if protocol else (), compress=False, timeout=_CLOSE_SECONDS)
    socket.headers[hdrs.SERVER] = "apiext"
    try:
        if AUDIT in request and socket.can_prepare(request):
            await started(request, 101)
        await socket.prepare(request)
    except web.HTTPBadRequest as error:
        return _error_reply(error.text or "")
    kind = WSMsgType.BINARY if binary else WSMsgType.TEXT
    timer = asyncio.get_running_loop().call_later(seconds, running.close)
    listener = asyncio.create_task(_close_with(socket, running))
    try:
        with suppress(EncodeError):
            async for events in running:
                await _send(socket, map(line, events), kind)
                # an idle watch must not keep what it has sent
                del events
        await socket.close(code=WSCloseCode.OK)
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        timer.cancel()
        listener.cancel()
    return socket


async def _send(socket: web.WebSocketResponse, lines: Iterable[bytes], kind: WSMsgType) -> None:
    for line in lines:
        await socket.send_frame(line, kind)


async def _close_with(socket: web.WebSocketResponse, running: Watch) -> None:
    """Close the watch when the client disconnects."""
    try:
        async for _ in socket:
            pass
    finally:
        running.close()


def _protocols(request: web.BaseRequest) -> str:
    return request[PROTOCOLS] if PROTOCOLS in request else request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "")


def _error_reply(text: str) -> Reply:
    reply = Reply(text.encode(), status=400, content_type="text/plain")
    # the client may send frames next
    reply.force_close()
    return reply
