"""Bodies of many lines, read as they come: each line within the limit, the body as long as it wants to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from apiext.endpoints.handlers.expect_continue import ask_for_body
from apiext.meta import errors

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


async def read_lines(request: web.BaseRequest, limit: int) -> AsyncGenerator[tuple[int, bytes]]:
    """The lines of a body that are not blank, with their numbers, which begin at 1; the last one need not be ended.

    Raises:
        StatusError: 413 for a line of more bytes than the limit, 500 for a body that breaks off.
    """
    if hdrs.EXPECT in request.headers:
        await ask_for_body(request)
    number, begun = 1, bytearray()
    while chunk := await _next(request):
        first, *more = chunk.split(b"\n")
        begun += first
        _check(begun, number, limit)
        if not more:
            continue
        for line in (bytes(begun), *more[:-1]):
            _check(line, number, limit)
            if not line.isspace() and line:
                yield number, line
            number += 1
        begun = bytearray(more[-1])
    if begun and not begun.isspace():
        yield number, bytes(begun)


async def _next(request: web.BaseRequest) -> bytes:
    try:
        return await request.content.readany()
    except web.RequestPayloadError as error:
        raise errors.unknown(str(error)) from error


def _check(line: bytes | bytearray, number: int, limit: int) -> None:
    if len(line) > limit:
        raise errors.too_large(f"line {number}: limit is {limit}")
