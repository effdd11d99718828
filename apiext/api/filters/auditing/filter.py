"""Audit events of requests (apiserver pkg/endpoints/filters/audit.go, audit_init.go and authn_audit.go); imported only with audit.

The response writers and the execution of writes add the objects of requests and responses.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from apiext.api.audit import latencies
from apiext.api.audit.backend import DirectBackend
from apiext.api.audit.context import CODES, AuditContext
from apiext.api.audit.event import AuditEvent, arrival
from apiext.api.audit.levels import AuditLevel, AuditStage
from apiext.api.audit.request_record import strip_managed_fields
from apiext.api.endpoints.request import ARRIVED, AUDIT, FLOW, HEADERS, INFO, USER, WORKERS, Handler, attached
from apiext.api.endpoints.responsewriters.response import Reply, has_begun
from apiext.api.endpoints.responsewriters.status import internal_error_reply, record_error, status_reply
from apiext.api.filters.auditing.client import client_of
from apiext.api.filters.auditing.usual_reads import UsualReads
from apiext.api.filters.before_request import FilterStep
from apiext.api.filters.headers import HEADER
from apiext.api.filters.metrics import DEADLINE_EXCEEDED
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_INLINE_BYTES
from apiext.base.meta.log import get_logger
from apiext.base.random_uuid import random_uuid
from apiext.storage.store_times import STORE_TIMES, StoreTimes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.api.audit.backend import AuditBackend
    from apiext.api.audit.event import RequestFacts
    from apiext.api.audit.log.writer import LogWriter
    from apiext.api.audit.policy import AuditPolicy, AuditSettings
    from apiext.api.audit.statistics import AuditStats
    from apiext.base.meta.request import UserInfo

_LOG: Final = get_logger(__name__)
_NONE: Final = AuditLevel.NONE
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
_JOINED_INLINE: Final = 1024 * 1024
"""Bytes of a response that are joined on the event loop."""
_CLOSED: Final[dict[str, Any]] = {"status": "Success", "message": "Connection closed early", "code": 200}
"""The status of a request that ended before its answer."""


class AuditInit(FilterStep):
    """Returns the Audit-ID as the filter AuditID, which it replaces, and notes when the request has arrived."""

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer, and the time."""
        request[HEADERS] = {HEADER: request.headers.get(HEADER) or random_uuid()}
        request[ARRIVED] = time.time_ns()


class Auditing:
    """The policy, the backend and the counters, which the filters share."""

    def __init__(self, policy: AuditPolicy, backend: AuditBackend, stats: AuditStats, *, log: LogWriter | None = None) -> None:
        """Share the policy. `log` takes the lines of usual reads, if nothing else is to get their events."""
        self.policy = policy
        self.single = policy.single
        """The settings of all requests; None if they differ."""
        self.records_nothing = policy.single is not None and policy.single.level is _NONE
        """Whether requests are only counted."""
        self._backend = backend
        self._direct = backend if isinstance(backend, DirectBackend) else None
        self.stats = stats
        self.reads = UsualReads(log, stats, self.attach) if log is not None else None
        self._detached: set[asyncio.Future[bool]] = set()

    def begin(self, request: web.BaseRequest, user: UserInfo | None, settings: AuditSettings) -> AuditContext:
        """Attach a context to a request that is recorded, and return it."""
        request[AUDIT] = audit = AuditContext(request[HEADERS][HEADER], request[ARRIVED])
        audit.begin(settings, self, user, request[INFO])
        if self._direct is None:
            audit.is_usual = False
        audit.uri, audit.client = request.raw_path, client_of(request)
        return audit

    def attach(self, request: web.BaseRequest) -> AuditContext:
        """Attach a context to a usual read that runs, and record its arrival."""
        user = request[USER]
        audit = self.begin(request, user, self.policy.evaluate(user, request[INFO]))
        self.receive(audit)
        return audit

    def finish(self, request: web.BaseRequest, audit: AuditContext, response: web.StreamResponse) -> Awaitable[bool] | None:
        """Emit the last event of a request, without the object of its response. Return an awaitable as `complete`."""
        now, code = time.time_ns(), response.status
        status = CODES.get(code) if audit.is_usual else None
        if status is None or self._direct is None or now - audit.received > latencies.SLOW:
            audit.take_code(code)
            return _complete(request, audit, response)
        # with fewer calls
        audit.status = status
        self.stats.events += 1
        return self._direct.complete(audit, now)

    def receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        """Count the event of a request's arrival, and let the backend take it (AuditSink)."""
        if self._direct is None:
            return self.process((arrival(context),))
        self.stats.events += 1
        return self._direct.receive(context)

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Count the last event of a request, and let the backend take it (AuditSink)."""
        if self._direct is None:
            return self.process((AuditEvent(context, _COMPLETE, moment),))
        self.stats.events += 1
        return self._direct.complete(context, moment)

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Count events and give them to the backend (AuditSink)."""
        self.stats.events += len(events)
        return self._backend.process(events)

    def refuse(self, request: web.BaseRequest, error: errors.StatusError) -> None:
        """Record a request that is refused before it is audited; the event has the stage ResponseStarted only."""
        settings = self.policy.evaluate(None, request[INFO])
        self.stats.levels[settings.level] += 1
        if settings.level is not _NONE:
            audit = self.begin(request, None, settings)
            record_error(request, error)
            self.detach(audit.start(error.code))

    def detach(self, waiting: Awaitable[bool] | None) -> None:
        """Let the backend take an event without the request's waiting."""
        if waiting is not None:
            future = asyncio.ensure_future(waiting)
            self._detached.add(future)
            future.add_done_callback(self._detached.discard)


class Audit:
    """Emits the events of a request: at its arrival, at the beginning of a long answer, and at its end.

    Answers 500 if the arrival cannot be stored in mode blocking-strict.
    """

    def __init__(self, handler: Handler, *, auditing: Auditing, plain: bool = False) -> None:
        """Create the filter. With `plain`, errors have the form of a server without AllowUnsafeMalformedObjectDeletion."""
        self.handler: Handler = handler
        self._auditing = auditing
        self._plain = plain

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the handler's answer. Raises what the handler raises."""
        auditing, user, info = self._auditing, request[USER], request[INFO]
        settings = auditing.single or auditing.policy.evaluate(user, info)
        auditing.stats.levels[settings.level] += 1
        if settings.level is _NONE:
            return self.handler(request)
        reads = auditing.reads
        if reads is not None and info.verb == "get" and settings.is_metadata and not info.long_running and "?" not in request.raw_path:
            return reads.handle(request, user, info, self)
        return self._audited(request, auditing.begin(request, user, settings))

    async def _audited(self, request: web.BaseRequest, audit: AuditContext) -> web.StreamResponse:
        audit.store_times = times = StoreTimes()
        STORE_TIMES.set(times)
        try:
            waiting = audit.receive() if audit.settings.omit_stages else self._auditing.receive(audit)
            if waiting is not None and not await waiting:
                self._auditing.stats.rejected += 1
                return internal_error_reply(request, "failed to store audit event")
            response = await self.handler(request)
        except BaseException as error:
            refusal = await self.fail(request, error)
            if refusal is None:
                raise
            return refusal
        finally:
            # the connection's next request may be a usual read, which measures nothing
            STORE_TIMES.set(None)
        if not audit.is_usual and (audit.response is not None or audit.long_running):
            await self._finish(request, audit, response.status, response)
            return response
        # most requests, without another coroutine
        waiting = self._auditing.finish(request, audit, response)
        if waiting is not None:
            await waiting
        return response

    async def finish(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Emit the last event of a request with a context, and wait if the backend demands it (AuditFilter)."""
        STORE_TIMES.set(None)
        await self._finish(request, attached(request), response.status, response)

    async def fail(self, request: web.BaseRequest, error: BaseException) -> web.StreamResponse | None:
        """Emit the last event of a request whose handler has raised an error. Return its answer; None if the error passes on."""
        audit = attached(request)
        # a read may have measured its waits, too
        STORE_TIMES.set(None)
        if isinstance(error, errors.StatusError):
            return await self._refuse(request, audit, (self._plain and error.plain) or error)
        if isinstance(error, web.HTTPException):
            await self._finish(request, audit, error.status)
        elif isinstance(error, asyncio.CancelledError | ConnectionError):
            self._cut_off(request, audit, error)
        elif isinstance(error, Exception):
            waiting = audit.panic(error)
            if waiting is not None:
                await waiting
        return None

    async def _refuse(self, request: web.BaseRequest, audit: AuditContext, error: errors.StatusError) -> web.StreamResponse | None:
        """Emit the last event of a refused request, and return its answer; None if another one has begun."""
        if has_begun(request):
            record_error(request, error)
            await self._finish(request, audit, error.code)
            return None
        refusal = status_reply(request, error)
        await self._finish(request, audit, error.code, refusal)
        return refusal

    async def _finish(self, request: web.BaseRequest, audit: AuditContext, code: int, response: web.StreamResponse | None = None) -> None:
        """Emit the last event, and wait if the backend demands it."""
        audit.take_code(code)
        if audit.response is not None and audit.settings.omit_managed_fields:
            try:
                audit.response = (await _stripped(request, audit.response),)
            except (asyncio.CancelledError, ConnectionError) as end:
                self._cut_off(request, audit, end)
                raise
            except Exception as error:  # noqa: BLE001 -- the event is worth more than its object
                _LOG.error("audit event has no response object", audit_id=audit.audit_id, error=str(error))
                audit.response = None
        for waiting in (audit.start(code) if audit.long_running else None, _complete(request, audit, response)):
            if waiting is not None:
                await waiting

    def _cut_off(self, request: web.BaseRequest, audit: AuditContext, end: BaseException) -> None:
        """Emit the last event of a request that was cancelled, or whose client has disconnected."""
        if end.args == (DEADLINE_EXCEEDED,):
            status = errors.timeout("request did not complete within requested timeout - context deadline exceeded").status()
            audit.take_status(status)
            audit.response = (json_codec.dumps(status, sort_keys=False),) if audit.records_response else None
        else:
            if audit.status is None:
                audit.take_status(_CLOSED)
            audit.response = None
        if audit.long_running and audit.status is not None:
            self._auditing.detach(audit.start(audit.status.get("code", 200)))
        self._auditing.detach(_complete(request, audit))


def _complete(request: web.BaseRequest, audit: AuditContext, response: web.StreamResponse | None = None) -> Awaitable[bool] | None:
    """Emit the last event of a request."""
    now = time.time_ns()
    if now - audit.received > latencies.SLOW:
        now = _annotate_latencies(request, audit, response)
    return audit.complete(now)


def _annotate_latencies(request: web.BaseRequest, audit: AuditContext, response: web.StreamResponse | None) -> int:
    """Add where the time of a slow request went. Return the moment of its end, in nanoseconds since 1970."""
    if isinstance(response, Reply):
        begin = time.time_ns()
        # the event precedes the writing to the connection, which does not block; the reference copies into a buffer, too
        if response.join():
            audit.track(latencies.WRITING, (time.time_ns() - begin) / 1e9)
        info = request[INFO]
        if info.is_discovery:
            # its document is encoded for all requests: what remains is the writing
            audit.encoding = audit.encoding or begin
    now = time.time_ns()
    flow = request.get(FLOW)
    latencies.annotate(audit, now, queued=flow is not None and not flow[0].level.is_exempt)
    return now


async def _stripped(request: web.BaseRequest, parts: Sequence[bytes]) -> bytes:
    """Return the JSON of a response without managedFields; a worker process works on a large one."""
    size = sum(map(len, parts))
    if size <= MAX_INLINE_BYTES or WORKERS not in request:
        return strip_managed_fields(b"".join(parts))
    # a join of more than a megabyte releases the interpreter's lock
    data = b"".join(parts) if size <= _JOINED_INLINE else await asyncio.to_thread(b"".join, parts)
    return await request[WORKERS].call(strip_managed_fields, data, user=request[USER].name)
