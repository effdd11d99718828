"""Watches over WebSocket, one frame an event, for browsers and other clients that cannot read single HTTP chunks.

Mirrors apiserver pkg/endpoints/handlers/watch.go (HandleWS) and the handshake of golang.org/x/net/websocket.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from apiext.endpoints.request import PROTOCOLS
from apiext.endpoints.responsewriters.response import NO_HEADERS, Reply
from apiext.endpoints.responsewriters.watch_encoder import EncodeError
from apiext.storage.interface import Event, Watch

_VERSION: Final = "13"
_URI: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")
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
    error = _handshake_error(request)
    if error is not None:
        return error
    protocol = _protocols(request).strip()
    socket = web.WebSocketResponse(protocols=(protocol,) if protocol else (), compress=False, timeout=_CLOSE_SECONDS)
    socket.headers[hdrs.SERVER] = "apiext"
    await socket.prepare(request)
    timer = asyncio.get_running_loop().call_later(seconds, running.close)
    listener = asyncio.create_task(_close_with(socket, running))
    try:
        with suppress(EncodeError):
            async for events in running:
                for event in events:
                    await socket.send_frame(line(event), WSMsgType.BINARY if binary else WSMsgType.TEXT)
        await socket.close(code=WSCloseCode.OK)
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        timer.cancel()
        listener.cancel()
    return socket


async def _close_with(socket: web.WebSocketResponse, running: Watch) -> None:
    """Close the watch when the client disconnects."""
    try:
        async for _ in socket:
            pass
    finally:
        running.close()


def _handshake_error(request: web.BaseRequest) -> Reply | None:
    """Return the error response to an invalid handshake, None if it is valid."""
    headers = request.headers
    if not headers.get(hdrs.SEC_WEBSOCKET_KEY):
        return _error_reply(400, "mismatch challenge/response")
    if headers.get(hdrs.SEC_WEBSOCKET_VERSION) != _VERSION:
        return _error_reply(400, "missing or bad WebSocket Version", {"Sec-WebSocket-Version": _VERSION})
    if not _URI.match(headers.get(hdrs.ORIGIN, "")):
        return _error_reply(403, "")
    if "," in _protocols(request):
        return _error_reply(400, "")
    return None


def _protocols(request: web.BaseRequest) -> str:
    return request[PROTOCOLS] if PROTOCOLS in request else request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "")


def _error_reply(status: int, text: str, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
    reply = Reply(text.encode(), status=status, content_type="text/plain", headers=headers)
    # the client may send frames next
    reply.force_close()
    return reply
