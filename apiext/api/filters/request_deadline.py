"""Cancels requests that exceed their deadline.

Mirrors apiserver pkg/endpoints/filters/request_deadline.go, pkg/server/filters/timeout.go, and requestTimeoutUpperBound of
pkg/endpoints/handlers/rest.go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Final

from aiohttp import web

from apiext.api.endpoints.parameters import query_parameters
from apiext.api.endpoints.request import DEADLINE, HEADERS, INFO, TIMEOUT, Handler
from apiext.api.endpoints.responsewriters.response import AbortedResponse, Reply, has_begun
from apiext.api.filters.authentication import Refused
from apiext.api.filters.metrics import DEADLINE_EXCEEDED, RequestStats
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.time import parse_duration

_GROUP_SPAN: Final = 1.0
"""Seconds in which arriving requests share a timer."""
_WRITE_TIMEOUT: Final = 34.0
"""Seconds for a write of one object (requestTimeoutUpperBound), if the request timeout is longer."""
_GRACE: Final = 0.1
"""Seconds after its deadline at which a write with `?timeout=` is cancelled."""
_WRITES: Final = frozenset({"create", "update", "patch", "delete"})
_DELETE_ALL: Final = "deletecollection"
_TEXT: Final = "text/plain; charset=utf-8"


class RequestDeadline:
    """Cancels a request at its deadline and answers 504. Long-running requests have no deadline.

    `maximum` is the timeout in seconds, which `?timeout=` can shorten. `writing` is the timeout of writes of one object. Requests that
    arrive within a second share a deadline: a timer for each would cost more than the rest of this filter.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        maximum: float,
        stats: RequestStats,
        writing: float = _WRITE_TIMEOUT,
        refused: Refused | None = None,
    ) -> None:
        """Create the filter. `refused` gets each request with an invalid `?timeout=`."""
        self._handler = handler
        self._stats = stats
        self._maximum = maximum
        self._writing = writing
        self._refused = refused
        self._reads = _Arrivals(maximum)
        self._writes = _Arrivals(min(writing, maximum))

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the handler's answer, or 504 after the deadline.

        Raises:
            StatusError: 400, if `?timeout=` is not a duration; 504, for a write that exceeds the timeout of writes.
        """
        info = request[INFO]
        if info.long_running:
            return self._handler(request)
        writes = info.verb in _WRITES
        if "timeout" not in request.rel_url.raw_query_string:
            arrivals = self._writes if writes else self._reads
            if writes or info.verb == _DELETE_ALL:
                request[DEADLINE] = time.monotonic() + arrivals.seconds
            return self._within(arrivals.group(), request, self._maximum, None, writes=writes)
        asked = request[TIMEOUT] = self._timeout(request)
        seconds = min(asked, self._writing) if writes else asked
        request[DEADLINE] = time.monotonic() + seconds
        # what knows the deadline of a write ends at it by itself, and records what it waited for
        group = _Group(seconds, span=_GRACE if writes else 0.0)
        return self._within(group, request, asked, time.monotonic() + asked, writes=writes)

    async def _within(
        self, group: _Group, request: web.BaseRequest, allotted: float, end: float | None, *, writes: bool
    ) -> web.StreamResponse:
        headers, task = request[HEADERS], asyncio.current_task(group.loop)
        group.tasks.add(task)
        try:
            response = await self._handler(request)
            # a handler that never awaits is not cancelled
            if end is None or _is_in_time(request, end):
                return response
        except errors.StatusError:
            if end is None or _is_in_time(request, end):
                raise
        except asyncio.CancelledError:
            if not group.uncancel(task):
                raise
        finally:
            group.discard(task)
            del task  # it keeps its CancelledError, whose traceback refers to this frame
        return self._timed_out(request, allotted, headers, writes=writes)

    def _timed_out(self, request: web.BaseRequest, allotted: float, headers: dict[str, str], *, writes: bool) -> web.StreamResponse:
        """Return the answer of the reference: a Status without kind and apiVersion, with the media type that Go detects.

        It has only the headers of the filters before this one.
        """
        if has_begun(request):
            self._stats.record_termination(request, 504)
            return AbortedResponse()
        if writes and self._writing < allotted:
            raise errors.timeout("request did not complete within requested timeout - context deadline exceeded")
        self._stats.record_termination(request, 504)
        request[HEADERS] = headers
        status = errors.timeout("request did not complete within the allotted timeout").status()
        del status["kind"], status["apiVersion"]
        return Reply(json_codec.dumps(status, sort_keys=False) + b"\n", status=504, content_type=_TEXT)

    def _timeout(self, request: web.BaseRequest) -> float:
        text = query_parameters.text(query_parameters.parse_query(request), "timeout")
        if not text:
            return self._maximum
        try:
            asked = parse_duration(text)
        except ValueError as error:
            refusal = errors.bad_request(f"invalid timeout specified in the request URL - {error}")
            if self._refused is not None:
                self._refused(request, refusal)
            raise refusal from None
        return asked if 0 < asked < self._maximum else self._maximum


def _is_in_time(request: web.BaseRequest, end: float) -> bool:
    """Return whether an answer that is complete now is sent: before `end`, a time as `time.monotonic`, or if it has begun."""
    return time.monotonic() < end or has_begun(request)


class _Arrivals:
    """Groups requests with the same timeout by their arrival."""

    __slots__ = ("_group", "seconds", "span")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.span = _GROUP_SPAN if seconds >= 2 * _GROUP_SPAN else 0.0
        self._group: _Group | None = None

    def group(self) -> _Group:
        """Return the group of requests that arrive now."""
        group = self._group
        if group is None or group.closed:
            group = self._group = _Group(self.seconds, span=self.span)
        return group


class _Group:
    """Requests with a common deadline, `seconds` after the group closes to new ones."""

    __slots__ = ("_expired", "_timer", "closed", "loop", "tasks")

    def __init__(self, seconds: float, *, span: float) -> None:
        self.loop = loop = asyncio.get_running_loop()
        self.tasks: set[asyncio.Task[object] | None] = set()
        self.closed = not span
        self._expired = False
        if span:
            self._timer = loop.call_later(span, self._close, seconds)
        else:
            self._timer = loop.call_later(seconds, self._expire)

    def _close(self, seconds: float) -> None:
        """Close the group to new requests, and start the timeout of those that remain."""
        self.closed = True
        if self.tasks:
            self._timer = self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._expired = True
        for task in self.tasks:
            if task is not None:
                task.cancel(DEADLINE_EXCEEDED)

    def uncancel(self, task: asyncio.Task[object] | None) -> bool:
        """Undo the cancellation of a task by this group; return whether no other cancellation remains."""
        return self._expired and task is not None and task.uncancel() == 0

    def discard(self, task: asyncio.Task[object] | None) -> None:
        """Remove an answered request; stop the timer after the last one."""
        self.tasks.discard(task)
        if self._expired and task is not None and task.cancelling():
            # the handler has caught the cancellation, but the task must go on with the connection's next request
            task.uncancel()
        if self.closed and not self.tasks:
            self._timer.cancel()
