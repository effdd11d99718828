"""Limits how many requests are served at once (apiserver pkg/server/filters/maxinflight.go)."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.endpoints.request import INFO, USER, Handler
from apiext.endpoints.responsewriters.status import text_reply
from apiext.filters.metrics import RequestNumbers
from apiext.meta.user import MASTERS

_READING: Final = frozenset({"get", "list", "watch"})
_RETRY_AFTER: Final = {"Retry-After": "1"}


class InFlight:
    """How many requests are served now, those that read and those that may change something."""

    __slots__ = ("mutating", "read_only")

    def __init__(self) -> None:
        self.read_only = 0
        self.mutating = 0


class MaxInFlight:
    """Answers 429 when there are too many requests already; a limit of 0 is none.

    Long-running requests do not count, and members of system:masters are always served.
    """

    def __init__(self, handler: Handler, *, read_only: int, mutating: int, in_flight: InFlight, numbers: RequestNumbers) -> None:
        self._handler = handler
        self._numbers = numbers
        self._read_only = read_only
        self._mutating = mutating
        self._now = in_flight

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on where there is room for it."""
        info, now = request[INFO], self._now
        if info.long_running:
            return await self._handler(request)
        if info.verb in _READING:
            if 0 < self._read_only <= now.read_only:
                return await self._overflow(request)
            now.read_only += 1
            try:
                return await self._handler(request)
            finally:
                now.read_only -= 1
        if 0 < self._mutating <= now.mutating:
            return await self._overflow(request)
        now.mutating += 1
        try:
            return await self._handler(request)
        finally:
            now.mutating -= 1

    async def _overflow(self, request: web.BaseRequest) -> web.StreamResponse:
        if MASTERS in request[USER].groups:
            return await self._handler(request)
        self._numbers.dropped(request, 429)
        return text_reply("Too many requests, please try again later.", status=429, headers=_RETRY_AFTER)
