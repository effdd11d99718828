"""Watches over WebSocket: a frame for each event, for browsers and other clients that cannot read chunks as they come.

Mirrors apiserver pkg/endpoints/handlers/watch.go (HandleWS) and the handshake of golang.org/x/net/websocket.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from apiext.endpoints.request import PROTOCOLS
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.responsewriters.watch_encoder import FormError

if TYPE_CHECKING:
    from apiext.storage.interface import Event, Watch

_VERSION: Final = "13"
_NO_HEADERS: Final[Mapping[str, str]] = {}
_URI: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")
_CLOSING: Final = 1.0
"""Seconds that a client has to answer the end; the reference does not wait at all."""


def asks_for_websocket(request: web.BaseRequest) -> bool:
    """Whether the client wants to leave HTTP for WebSocket, as it can."""
    return request.method == hdrs.METH_GET and upgrades(request.headers)


def upgrades(headers: Mapping[str, str]) -> bool:
    """Whether the headers are those of a WebSocket."""
    if headers.get(hdrs.UPGRADE, "").lower() != "websocket":
        return False
    return "upgrade" in headers.get(hdrs.CONNECTION, "").lower()


async def serve_frames(
    request: web.BaseRequest, running: Watch, line: Callable[[Event], bytes], seconds: float, *, binary: bool = False
) -> web.StreamResponse:
    """Send a watch's events until it or the time is over, or the client leaves; whatever the client sends is ignored."""
    refusal = _refusal(request)
    if refusal is not None:
        return refusal
    protocol = _protocols(request).strip()
    socket = web.WebSocketResponse(protocols=(protocol,) if protocol else (), compress=False, timeout=_CLOSING)
    socket.headers[hdrs.SERVER] = "apiext"
    await socket.prepare(request)
    timer = asyncio.get_running_loop().call_later(seconds, running.close)
    listener = asyncio.create_task(_close_with(socket, running))
    try:
        with suppress(FormError):
            async for events in running:
                for event in events:
                    await socket.send_frame(line(event), WSMsgType.BINARY if binary else WSMsgType.TEXT)
        await socket.close(code=WSCloseCode.OK)
    except ConnectionError:
        # The client has left; there is nobody to tell.
        pass
    finally:
        timer.cancel()
        listener.cancel()
    return socket


async def _close_with(socket: web.WebSocketResponse, running: Watch) -> None:
    """Read until the client leaves, and end the watch then."""
    try:
        async for _ in socket:
            pass
    finally:
        running.close()


def _refusal(request: web.BaseRequest) -> Reply | None:
    """What a handshake that cannot be accepted is answered with."""
    headers = request.headers
    if not headers.get(hdrs.SEC_WEBSOCKET_KEY):
        return _refused(400, "mismatch challenge/response")
    if headers.get(hdrs.SEC_WEBSOCKET_VERSION) != _VERSION:
        return _refused(400, "missing or bad WebSocket Version", {"Sec-WebSocket-Version": _VERSION})
    if not _URI.match(headers.get(hdrs.ORIGIN, "")):
        return _refused(403, "")
    if "," in _protocols(request):
        return _refused(400, "")
    return None


def _protocols(request: web.BaseRequest) -> str:
    return request[PROTOCOLS] if PROTOCOLS in request else request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "")


def _refused(status: int, text: str, headers: Mapping[str, str] = _NO_HEADERS) -> Reply:
    reply = Reply(text.encode(), status=status, content_type="text/plain", headers=headers)
    # what follows on this connection might be anything
    reply.force_close()
    return reply
