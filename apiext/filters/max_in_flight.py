"""Limits concurrent requests (apiserver pkg/server/filters/maxinflight.go)."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.endpoints.request import INFO, USER, Handler
from apiext.endpoints.responsewriters.status import text_reply
from apiext.filters.metrics import RequestStats
from apiext.meta.request import MASTERS

_READING: Final = frozenset({"get", "list", "watch"})
_RETRY_AFTER: Final = {"Retry-After": "1"}


class InFlight:
    """Counts the current requests: read-only and mutating ones."""

    __slots__ = ("mutating", "read_only")

    def __init__(self) -> None:
        self.read_only = 0
        self.mutating = 0


class MaxInFlight:
    """Answers 429 above the limit of concurrent requests; 0 disables a limit.

    Long-running requests do not count. Members of system:masters are exempt.
    """

    def __init__(self, handler: Handler, *, read_only: int, mutating: int, in_flight: InFlight, stats: RequestStats) -> None:
        self._handler = handler
        self._stats = stats
        self._read_only = read_only
        self._mutating = mutating
        self._now = in_flight

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer, or 429 above the limit."""
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
        self._stats.record_dropped(request, 429)
        return text_reply("Too many requests, please try again later.", status=429, headers=_RETRY_AFTER)
