"""`Expect: 100-continue`: sends the interim response when the server reads the body, as Go's net/http."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.api.endpoints.responsewriters.response import FramingWriter

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CONTINUED: web.RequestKey[bool] = web.RequestKey("continued", bool)


async def ask_for_body(request: web.BaseRequest) -> None:
    """Send 100 Continue, once."""
    if _CONTINUED not in request:
        request[_CONTINUED] = True
        if isinstance(request.writer, FramingWriter):
            request.writer.send_continue()
            return
        await request.writer.write(_CONTINUE)
        # the interim response is no part of the response
        request.writer.output_size = 0
