"""Ends requests that take too long.

Mirrors apiserver pkg/endpoints/filters/request_deadline.go, pkg/server/filters/timeout.go, and requestTimeoutUpperBound of
pkg/endpoints/handlers/rest.go.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from aiohttp import web

from apiext.endpoints.handlers import query_parameters
from apiext.endpoints.request import INFO, Handler
from apiext.endpoints.responsewriters.response import BrokenOff, Reply, has_begun
from apiext.filters.metrics import LATE, RequestNumbers
from apiext.meta import errors, json_codec
from apiext.meta.duration import parse_duration

_SPAN: Final = 1.0
"""Seconds of arrivals that share a timer."""

_WRITING: Final = 34.0
"""Seconds for a write of one object, where more is allowed for others: the store may not answer, and its client is to know in time."""
_WRITES: Final = frozenset({"create", "update", "patch", "delete"})
_TEXT: Final = "text/plain; charset=utf-8"


class RequestDeadline:
    """Cancels a request when its time is over and answers 504; long-running requests have all the time they want.

    `maximum` is in seconds; a client can only ask for less, with `?timeout=`. Requests that arrive within a second end
    together, when the time of the last of them is over: a timer of its own would cost each more than all else here.
    `writing` is for writes of one object, in seconds.
    """

    def __init__(self, handler: Handler, *, maximum: float, numbers: RequestNumbers, writing: float = _WRITING) -> None:
        self._handler = handler
        self._numbers = numbers
        self._maximum = maximum
        self._writing = writing
        self._reads = _Arrivals(maximum)
        self._writes = _Arrivals(min(writing, maximum))

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on, for a limited time. Raises StatusError: 400 when the time asked for is no duration."""
        info = request[INFO]
        if info.long_running:
            return await self._handler(request)
        writes = info.verb in _WRITES
        if "timeout" not in request.rel_url.raw_query_string:
            response = await self._within((self._writes if writes else self._reads).group(), request)
            return self._late(request, self._maximum, writes=writes) if response is None else response
        asked = self._asked(request)
        end = time.monotonic() + asked
        response = await self._within(_Group(min(asked, self._writing) if writes else asked, span=0.0), request)
        # what took less than a turn of the loop may be too late all the same
        if response is None or (time.monotonic() >= end and not has_begun(request)):
            return self._late(request, asked, writes=writes)
        return response

    async def _within(self, group: _Group, request: web.BaseRequest) -> web.StreamResponse | None:
        """The answer, None where it did not come in time."""
        task = asyncio.current_task()
        group.tasks.add(task)
        try:
            return await self._handler(request)
        except asyncio.CancelledError:
            if group.took_back(task):
                return None
            raise
        finally:
            group.discard(task)

    def _late(self, request: web.BaseRequest, allotted: float, *, writes: bool) -> web.StreamResponse:
        """What the reference writes: a Status without a kind, of the type that Go takes it for.

        Raises StatusError: a write had less time than was allotted.
        """
        if has_begun(request):
            self._numbers.terminated(request, 504)
            return BrokenOff()
        if writes and self._writing < allotted:
            raise errors.timeout("request did not complete within requested timeout - context deadline exceeded")
        self._numbers.terminated(request, 504)
        status = errors.timeout("request did not complete within the allotted timeout").status()
        del status["kind"], status["apiVersion"]
        return Reply(json_codec.dumps(status, sort_keys=False) + b"\n", status=504, content_type=_TEXT)

    def _asked(self, request: web.BaseRequest) -> float:
        text = query_parameters.text(query_parameters.parse_query(request), "timeout")
        if not text:
            return self._maximum
        try:
            asked = parse_duration(text)
        except ValueError as error:
            raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from None
        return asked if 0 < asked < self._maximum else self._maximum


class _Arrivals:
    """Those who have equally long, grouped by when they come."""

    __slots__ = ("_group", "_seconds", "span")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.span = _SPAN if seconds >= 2 * _SPAN else 0.0
        self._group: _Group | None = None

    def group(self) -> _Group:
        """The group of those who arrive now."""
        group = self._group
        if group is None or group.closed:
            group = self._group = _Group(self._seconds, span=self.span)
        return group


class _Group:
    """Requests that end together, `seconds` after the last one could join."""

    __slots__ = ("_expired", "_timer", "closed", "tasks")

    def __init__(self, seconds: float, *, span: float) -> None:
        loop = asyncio.get_running_loop()
        self.tasks: set[asyncio.Task[object] | None] = set()
        self.closed = not span
        self._expired = False
        if span:
            self._timer = loop.call_later(span, self._close, seconds)
        else:
            self._timer = loop.call_later(seconds, self._expire)

    def _close(self, seconds: float) -> None:
        """Nobody joins any more; those who are still there have their time from now on."""
        self.closed = True
        if self.tasks:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._expired = True
        for task in self.tasks:
            if task is not None:
                task.cancel(LATE)

    def took_back(self, task: asyncio.Task[object] | None) -> bool:
        """Whether the task is being cancelled by this group and by nobody else; that is taken back."""
        return self._expired and task is not None and task.uncancel() == 0

    def discard(self, task: asyncio.Task[object] | None) -> None:
        """The request has been served; the last one stops the timer."""
        self.tasks.discard(task)
        if self.closed and not self.tasks:
            self._timer.cancel()
