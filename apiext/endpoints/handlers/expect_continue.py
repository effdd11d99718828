"""Clients that send a body only when they are told to (`Expect: 100-continue`): they are told when it is read, as Go does."""

from __future__ import annotations

from typing import Final

from aiohttp import hdrs, web

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CONTINUED: web.RequestKey[bool] = web.RequestKey("continued", bool)


async def ask_for_body(request: web.BaseRequest) -> None:
    """Have the client send its body, once."""
    if _CONTINUED not in request:
        request[_CONTINUED] = True
        await request.writer.write(_CONTINUE)
        # that was no part of the answer
        request.writer.output_size = 0


def is_held_back(request: web.BaseRequest) -> bool:
    """Whether the client still has the body, so that the connection is of no use for another request."""
    return hdrs.EXPECT in request.headers and _CONTINUED not in request
