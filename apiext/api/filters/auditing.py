"""Audit events of requests (apiserver pkg/endpoints/filters/audit.go, audit_init.go and authn_audit.go); imported only with audit.

The response writers and the execution of writes add the objects of requests and responses.
"""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from aiohttp import hdrs, web
from multidict import istr

from apiext.api.audit import latencies
from apiext.api.audit.backend import DirectBackend
from apiext.api.audit.context import ALLOWED, CODES, AuditContext, client, decision
from apiext.api.audit.event import ANSWERS, AuditEvent, Client, arrival, escaped, request_members, source_ips, user_text
from apiext.api.audit.latencies import SLOW
from apiext.api.audit.levels import AuditLevel, AuditStage
from apiext.api.audit.log.lines import READ_HEAD, is_recent
from apiext.api.audit.request_record import strip_managed_fields
from apiext.api.endpoints.request import ARRIVED, AUDIT, FLOW, HEADERS, INFO, USER, WORKERS, Handler, attached
from apiext.api.endpoints.responsewriters.response import Reply, has_begun
from apiext.api.endpoints.responsewriters.status import internal_error_reply, record_error, status_reply
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
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.audit.backend import AuditBackend, AuditStats
    from apiext.api.audit.event import RequestFacts
    from apiext.api.audit.log.writer import LogWriter
    from apiext.api.audit.policy import AuditPolicy, AuditSettings
    from apiext.base.meta.request import RequestInfo, UserInfo

_LOG: Final = get_logger(__name__)
_NONE: Final = AuditLevel.NONE
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
_JOINED_INLINE: Final = 1024 * 1024
"""Bytes of a response that are joined on the event loop."""
_CLOSED: Final[dict[str, Any]] = {"status": "Success", "message": "Connection closed early", "code": 200}
"""The status of a request that ended before its answer."""


_LINES: Final = 2


_REAL_IP: Final = istr("X-Real-Ip")
_MAX_USER_AGENT: Final = 1024
"""Characters."""
_MAX_CLIENTS: Final = 512
"""Clients that are cached."""


class _Connection(Protocol):
    """A connection of the server."""

    audit_client: tuple[str, Client] | None
    """The last User-Agent, and the client of its requests."""


def client_of(request: web.BaseRequest) -> Client:
    """Return the client of a request. Requests of a connection share it, unless a proxy names other addresses."""
    header, connection = request.headers.get, cast("_Connection", request.protocol)
    agent, forwarded_for, real_ip = header(hdrs.USER_AGENT, ""), header(hdrs.X_FORWARDED_FOR), header(_REAL_IP)
    if forwarded_for is not None or real_ip is not None:
        return _client(forwarded_for, real_ip, request.remote, _shortened(agent))
    known = connection.audit_client
    if known is None or known[0] != agent:
        known = connection.audit_client = agent, _client(None, None, request.remote, _shortened(agent))
    return known[1]


def _shortened(agent: str) -> str:
    return agent if len(agent) <= _MAX_USER_AGENT else f"{agent[:_MAX_USER_AGENT]}...TRUNCATED"


@lru_cache(maxsize=_MAX_CLIENTS)
def _client(forwarded_for: str | None, real_ip: str | None, remote: str | None, user_agent: str) -> Client:
    """Return the client of a request, given two headers, the address of its connection and the shortened User-Agent."""
    return client(source_ips(forwarded_for or "", real_ip or "", remote or ""), user_agent)


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

    async def handle(self, request: web.BaseRequest, user: UserInfo, info: RequestInfo, filter_: Audit) -> web.StreamResponse:
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
        """Emit the last event of a request with a context, and wait if the backend demands it."""
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
