"""Audit events of requests (apiserver pkg/endpoints/filters/audit.go, audit_init.go and authn_audit.go); imported only with audit.

The response writers and the execution of writes add the objects of requests and responses.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web
from multidict import istr

from apiext.audit.backend import DirectBackend
from apiext.audit.context import AuditContext
from apiext.audit.event import AuditEvent, arrival
from apiext.audit.levels import AuditLevel, AuditStage
from apiext.audit.request_record import strip_managed_fields
from apiext.audit.source_ips import source_ips
from apiext.endpoints.request import AUDIT, HEADERS, INFO, USER, WORKERS, Handler, attach
from apiext.endpoints.responsewriters.status import internal_error_reply, record_error
from apiext.filters.audit_id import HEADER
from apiext.filters.before_request import FilterStep
from apiext.filters.metrics import DEADLINE_EXCEEDED
from apiext.meta import errors
from apiext.meta.limits import MAX_INLINE_BYTES
from apiext.meta.log import get_logger
from apiext.meta.time import format_duration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.audit.backend import AuditBackend
    from apiext.audit.event import RequestFacts
    from apiext.audit.policy import AuditPolicy
    from apiext.audit.statistics import AuditStats
    from apiext.meta.request import UserInfo

_LOG: Final = get_logger(__name__)
_NONE: Final = AuditLevel.NONE
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
_REAL_IP: Final = istr("X-Real-Ip")
_MAX_USER_AGENT: Final = 1024
"""Characters."""
_JOINED_INLINE: Final = 1024 * 1024
"""Bytes of a response that are joined on the event loop."""
_SLOW: Final = 500_000_000
"""Nanoseconds from which an event tells where the time went."""
_LATENCY: Final = "apiserver.latency.k8s.io/"
_CLOSED: Final[dict[str, Any]] = {"status": "Success", "message": "Connection closed early", "code": 200}
"""The status of a request that ended before its answer."""


class AuditInit(FilterStep):
    """Attaches the audit context to the request."""

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the context."""
        attach(request, AUDIT, AuditContext(request[HEADERS][HEADER]))


class Auditing:
    """The policy, the backend and the counters, which the filters share."""

    def __init__(self, policy: AuditPolicy, backend: AuditBackend, stats: AuditStats) -> None:
        self.policy = policy
        self._backend = backend
        self._direct = backend if isinstance(backend, DirectBackend) else None
        self.stats = stats
        self._detached: set[asyncio.Future[bool]] = set()

    def begin(self, request: web.BaseRequest, user: UserInfo | None) -> AuditContext:
        """Return the request's audit context, with the settings that the policy has for it."""
        audit, info = request[AUDIT], request[INFO]
        settings = self.policy.evaluate(user, info)
        self.stats.levels[settings.level] += 1
        audit.begin(settings, self, user, info)
        if settings.level is not _NONE:
            headers = request.headers
            audit.uri = request.raw_path
            audit.user_agent = agent = headers.get(hdrs.USER_AGENT, "")
            if len(agent) > _MAX_USER_AGENT:
                audit.user_agent = f"{agent[:_MAX_USER_AGENT]}...TRUNCATED"
            audit.source_ips = source_ips(headers.get(hdrs.X_FORWARDED_FOR, ""), headers.get(_REAL_IP, ""), request.remote or "")
        return audit

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
        audit = self.begin(request, None)
        if not audit.enabled:
            return
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
        self._handler = handler
        self._auditing = auditing
        self._plain = plain

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the handler's answer. Raises what the handler raises."""
        audit = self._auditing.begin(request, request[USER])
        return self._handler(request) if audit.settings.level is _NONE else self._audited(request, audit)

    async def _audited(self, request: web.BaseRequest, audit: AuditContext) -> web.StreamResponse:
        try:
            waiting = audit.receive()
            if waiting is not None and not await waiting:
                self._auditing.stats.rejected += 1
                return internal_error_reply(request, "failed to store audit event")
            response = await self._handler(request)
        except errors.StatusError as error:
            await self._refuse(request, audit, (self._plain and error.plain) or error)
            raise
        except web.HTTPException as error:
            await self._finish(request, audit, error.status)
            raise
        except (asyncio.CancelledError, ConnectionError) as end:
            self._cut_off(audit, end)
            raise
        except Exception as error:
            waiting = audit.panic(error)
            if waiting is not None:
                await waiting
            raise
        if audit.response is not None or audit.long_running:
            await self._finish(request, audit, response.status)
            return response
        # most requests, without another coroutine
        audit.take_code(response.status)
        waiting = self._complete(audit)
        if waiting is not None:
            await waiting
        return response

    async def _refuse(self, request: web.BaseRequest, audit: AuditContext, error: errors.StatusError) -> None:
        """Emit the last event of a refused request. A variable of the caller would be a cycle through the error's traceback."""
        record_error(request, error)
        await self._finish(request, audit, error.code)

    async def _finish(self, request: web.BaseRequest, audit: AuditContext, code: int) -> None:
        """Emit the last event, and wait if the backend demands it."""
        audit.take_code(code)
        if audit.response is not None and audit.settings.omit_managed_fields:
            try:
                audit.response = (await _stripped(request, audit.response),)
            except (asyncio.CancelledError, ConnectionError) as end:
                self._cut_off(audit, end)
                raise
            except Exception as error:  # noqa: BLE001 -- the event is worth more than its object
                _LOG.error("audit event has no response object", audit_id=audit.audit_id, error=str(error))
                audit.response = None
        for waiting in (audit.start(code) if audit.long_running else None, self._complete(audit)):
            if waiting is not None:
                await waiting

    def _cut_off(self, audit: AuditContext, end: BaseException) -> None:
        """Emit the last event of a request that was cancelled, or whose client has disconnected."""
        if end.args == (DEADLINE_EXCEEDED,):
            audit.take_status(errors.timeout("request did not complete within requested timeout - context deadline exceeded").status())
        elif audit.status is None:
            audit.take_status(_CLOSED)
        audit.response = None
        if audit.long_running and audit.status is not None:
            self._auditing.detach(audit.start(audit.status.get("code", 200)))
        self._auditing.detach(self._complete(audit))

    def _complete(self, audit: AuditContext) -> Awaitable[bool] | None:
        """Emit the last event."""
        now = time.time_ns()
        if now - audit.received > _SLOW:
            _annotate_latencies(audit, now)
        return audit.complete(now)


def _annotate_latencies(audit: AuditContext, now: int) -> None:
    """Add where the time of a slow request went."""
    parts = audit.all_latencies()
    for name, seconds in parts.items():
        audit.annotate(f"{_LATENCY}{name}", format_duration(seconds))
    if parts:
        audit.annotate(f"{_LATENCY}total", format_duration((now - audit.received) / 1e9))


async def _stripped(request: web.BaseRequest, parts: Sequence[bytes]) -> bytes:
    """Return the JSON of a response without managedFields; a worker process works on a large one."""
    size = sum(map(len, parts))
    if size <= MAX_INLINE_BYTES or WORKERS not in request:
        return strip_managed_fields(b"".join(parts))
    # a join of more than a megabyte releases the interpreter's lock
    data = b"".join(parts) if size <= _JOINED_INLINE else await asyncio.to_thread(b"".join, parts)
    return await request[WORKERS].call(strip_managed_fields, data, user=request[USER].name)
