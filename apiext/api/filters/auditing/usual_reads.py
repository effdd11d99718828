"""Audit of most reads, which costs much less than that of other requests; imported only with audit.

Nearly all requests that get one object have, at level Metadata, the same events but for a few texts. They have no audit context: a tuple
of texts is kept at their end, and the lines of many are made together.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.audit.context import ALLOWED, AuditContext, decision
from apiext.api.audit.event import ANSWERS, escaped, request_members, user_text
from apiext.api.audit.latencies import SLOW
from apiext.api.audit.log.arrivals import is_recent
from apiext.api.audit.log.lines import READ_HEAD
from apiext.api.endpoints.request import ARRIVED, AUDIT, HEADERS
from apiext.api.filters.auditing.client import client_of
from apiext.api.filters.headers import HEADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from apiext.api.audit.log.writer import LogWriter
    from apiext.api.audit.statistics import AuditStats
    from apiext.api.endpoints.request import Handler
    from apiext.base.meta.request import RequestInfo, UserInfo

_LINES: Final = 2


class AuditFilter(Protocol):
    """The filter that records other requests."""

    handler: Handler

    async def fail(self, request: web.BaseRequest, error: BaseException) -> web.StreamResponse | None:
        """Record that the handler has raised an error. Return the answer to it; None if the error passes on."""

    async def finish(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Record the answer to a request with a context."""


class UsualReads:
    """The running reads without an audit context; their key AUDIT refers to this object.

    A read gets a context as soon as something else is to be recorded, or if it takes so long that its arrival is written before its end.
    """

    records_response = is_context = False

    def __init__(self, writer: LogWriter, stats: AuditStats, attach: Callable[[web.BaseRequest], AuditContext]) -> None:
        """Write to a log. `attach` attaches a new context to a request whose arrival is not recorded yet."""
        self._writer = writer
        self._stats = stats
        self._attach = attach
        self._running: dict[int, tuple[web.BaseRequest, int, tuple[str, int, int] | None]] = {}
        """Requests by their id, in their order, with the time at which they were authenticated, and why authorization allows them with the
        times at which that was begun and decided, in nanoseconds since 1970."""
        writer.attach_reads = self._attach_older

    async def handle(self, request: web.BaseRequest, user: UserInfo, info: RequestInfo, filter_: AuditFilter) -> web.StreamResponse:
        """Return the answer of the filter's handler. Raises what it raises.

        One function: further calls would cost as much as what they do.
        """
        running, writer, key = self._running, self._writer, id(request)
        running[key] = request, time.time_ns(), None
        request[AUDIT] = self
        if not writer.lingering:
            writer.linger()
        try:
            response = await filter_.handler(request)
        except BaseException as error:
            refusal = await filter_.fail(request, error)
            if refusal is None:
                raise
            return refusal
        now, arrived, answer = time.time_ns(), request[ARRIVED], ANSWERS.get(response.status)
        if answer is None or now - arrived > SLOW or (read := running.pop(key, None)) is None:
            # it has a context, or gets it because it was slow
            await filter_.finish(request, response)
            return response
        _, members, reference = request_members(info, request.raw_path)
        decided = read[2]
        notes = "" if decided is None else decision("allow", decided[0])[1] if decided[0] else ALLOWED[1]
        self._stats.events += _LINES
        audit_id, by, client = escaped(request[HEADERS][HEADER]), user_text(user), client_of(request).members
        if writer.add((READ_HEAD, audit_id, members, by, client, reference, reference, arrived, now, answer, notes, _LINES), _LINES):
            await writer.put_and_wait((), strict=False)
        return response

    def allow(self, request: web.BaseRequest, reason: str, begun: int) -> None:
        """Note why authorization allows a read; the decision was begun at a time in nanoseconds since 1970."""
        key = id(request)
        _, authenticated, _ = self._running[key]
        self._running[key] = request, authenticated, (reason, begun, time.time_ns())

    def attached(self, request: web.BaseRequest) -> AuditContext:
        """Give a running read an audit context. That of a read which has ended is not recorded."""
        read = self._running.pop(id(request), None)
        if read is None:
            return AuditContext(request[HEADERS][HEADER], request[ARRIVED])
        _, authenticated, decided = read
        audit = self._attach(request)
        audit.is_read, audit.authenticated = True, authenticated
        if decided is not None:
            reason, begun, ended = decided
            audit.decide(reason, allowed=True, begun=begun)
            audit.authorized = ended
        return audit

    def _attach_older(self, now: int) -> bool:
        """Give the reads that did not begin just before `now`, a time as ARRIVED, an audit context. Return whether others run."""
        found = [request for request, begun, _ in self._running.values() if not is_recent(begun, now)]
        for request in found:
            self.attached(request)
        return bool(self._running)
