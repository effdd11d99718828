"""The audit context of a request, from its arrival to its answer (apiserver pkg/audit/context.go and request.go)."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apiext.api.audit.event import AuditEvent, Client, RequestFacts, json_text, quoted
from apiext.api.audit.levels import AuditLevel, AuditStage
from apiext.api.audit.request_record import RequestRecord
from apiext.storage.store_times import STORE_TIMES, StoreTimes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Mapping

    from apiext.api.audit.backend import AuditSink
    from apiext.api.audit.policy import AuditSettings
    from apiext.base.meta.request import RequestInfo, UserInfo

_DECISION: Final = "authorization.k8s.io/decision"
_REASON: Final = "authorization.k8s.io/reason"
_RECEIVED: Final = AuditStage.REQUEST_RECEIVED
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
_STATUS_MEMBERS: Final = ("status", "message", "reason", "details", "code")
_MAX_KEPT: Final = 512
CODES: Final[dict[int, dict[str, Any]]] = {}
"""The Status of answers without one, by code; they must not be modified."""


class AuditContext(RequestFacts):
    """Collects the event of one request, and gives it to the sink at each stage."""

    _sink: AuditSink | None = None
    _started = long_running = False
    is_usual = True
    """Whether its events can have nothing but what those of most requests have. A slow request is unusual, too."""
    is_read = False
    """Whether it was a usual read (api/filters/auditing.py), and waits for nothing but the store, which it does not measure."""
    is_context = True
    """Whether a request has it, not what makes it if it is needed (api/filters/auditing.py)."""
    records_response = False
    """Whether the event includes the object of the response."""
    # nanoseconds since 1970; 0 before
    authenticated = authorizing = authorized = 0
    is_allowed = _deprecated = False

    def begin(self, settings: AuditSettings, sink: AuditSink, user: UserInfo | None, info: RequestInfo) -> None:
        """Take the settings that the policy has for the request. `user` is None if its authentication has failed."""
        self.settings, self._sink = settings, sink
        self.user, self.info = user, info
        self.authenticated = time.time_ns()
        if info.long_running or settings.omit_stages:
            self.long_running, self.is_usual = info.long_running, False
        level = settings.level
        if level is not AuditLevel.METADATA:
            self.records_response, self.is_usual = level is AuditLevel.REQUEST_RESPONSE, False

    def attached(self, _request: object) -> AuditContext:
        """Return the context itself (UsualReads)."""
        return self

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation; the first value of a key stays."""
        known = self.annotations
        if known is None:
            self.annotations = {key: value}
        else:
            if self.decided is not None and known is self.decided[0]:
                # requests share it
                known = self.annotations = dict(known)
            known.setdefault(key, value)

    def begin_authorization(self) -> None:
        """Note that authorization begins."""
        self.authorizing = time.time_ns()

    def decide(self, reason: str, *, allowed: bool, begun: int = 0) -> None:
        """Add the decision of authorization. It was `begun` at a time as `received`, if that is not noted yet."""
        self.authorizing = self.authorizing or begun
        self.authorized, self.is_allowed = time.time_ns(), allowed
        found = ALLOWED if allowed and not reason else decision("allow" if allowed else "forbid", reason)
        if self.annotations is None:
            # nearly all requests
            self.decided, self.annotations = found, found[0]
        else:
            for key, value in found[0].items():
                self.annotate(key, value)

    def allow(self, _request: object, reason: str, begun: int) -> None:
        """Add a decision of authorization that allows the request, as `decide` (UsualReads)."""
        self.decide(reason, allowed=True, begun=begun)

    def fail_decision(self) -> None:
        """Note that authorization has failed."""
        self.authorized = time.time_ns()
        self.annotate(_REASON, "internal error")

    def write_record(self) -> RequestRecord:
        """Return the record for the execution of the request's write."""
        if self.record is None:
            self.record = RequestRecord(self.settings.level >= AuditLevel.REQUEST, self.settings.omit_managed_fields)
        return self.record

    def impersonate(self, user: UserInfo, constraint: str) -> None:
        """Note the user whom the request impersonates, and the mode of constrained impersonation."""
        self.impersonated, self.constraint, self.is_usual = user, constraint, False

    def note_deprecation(self) -> None:
        """Note that the requested version is deprecated."""
        self._deprecated, self.is_usual = True, False

    def measure_store(self) -> None:
        """Measure how long the request waits for the store, if it does not do so yet. Its handler calls this before it asks the store."""
        if self.is_read:
            self.is_read = False
            self.store_times = times = StoreTimes()
            STORE_TIMES.set(times)

    def take_status(self, status: Mapping[str, Any]) -> None:
        """Note the Status of the response."""
        self.is_usual = False
        # empty details are a pointer in the reference
        self.status = {name: status[name] for name in _STATUS_MEMBERS if status.get(name) or (name == "details" and name in status)}

    def take_code(self, code: int) -> None:
        """Note the code of the response, which completes a Status."""
        # never a modified dict: earlier events keep theirs, and requests share those of a code alone
        self.status = CODES.get(code) or CODES.setdefault(code, {"code": code}) if self.status is None else {**self.status, "code": code}

    def track(self, part: str, seconds: float) -> None:
        """Add time that a part of the server has taken."""
        if self.latencies is None:
            self.latencies = {}
        self.latencies[part] = self.latencies.get(part, 0.0) + seconds

    @contextmanager
    def tracking(self, part: str) -> Generator[None]:
        """Add the time of the block to that of a part of the server."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.track(part, time.perf_counter() - begin)

    def receive(self) -> Awaitable[bool] | None:
        """Emit the event of the request's arrival. Return the awaitable of `AuditSink.process`."""
        sink = self._sink
        omitted = self.settings.omit_stages
        if sink is None or (omitted and _RECEIVED in omitted):
            return None
        return sink.receive(self)

    def start(self, code: int) -> Awaitable[bool] | None:
        """Emit the event of the beginning of a long answer, once. Return an awaitable as `receive`."""
        if self._started:
            return None
        self._started = True
        self.take_code(code)
        return self._emit(AuditStage.RESPONSE_STARTED, time.time_ns())

    def complete(self, moment: int | None = None) -> Awaitable[bool] | None:
        """Emit the event of the request that was answered at a `moment`, by default now. Return an awaitable as `receive`."""
        if self._deprecated:
            self.annotate("k8s.io/deprecated", "true")
        if moment is None:
            moment = time.time_ns()
        sink, omitted = self._sink, self.settings.omit_stages
        if sink is None or (omitted and _COMPLETE in omitted):
            return None
        record = self.record
        if self.response is None and self.impersonated is None and (record is None or record.body is None):
            # most requests
            return sink.complete(self, moment)
        event = AuditEvent(self, _COMPLETE, moment)
        # the objects may be large, and a backend may keep the context a little longer
        self.response = self.record = None
        return sink.process((event,))

    def panic(self, error: Exception) -> Awaitable[bool] | None:
        """Emit the event of a request that failed by a defect of the server. Return an awaitable as `receive`."""
        message = f"APIServer panic'd: {error}"
        self.status = {"status": "Failure", "message": message, "reason": "InternalError", "code": 500}
        return self._emit(AuditStage.PANIC, time.time_ns())

    def _emit(self, stage: AuditStage, moment: int) -> Awaitable[bool] | None:
        omitted = self.settings.omit_stages
        if self._sink is None or (omitted and stage in omitted):
            return None
        return self._sink.process((AuditEvent(self, stage, moment),))


def client(source_ips: tuple[str, ...], user_agent: str) -> Client:
    """Return the client of a request."""
    members = f',"sourceIPs":{json_text(source_ips)}' if source_ips else ""
    if user_agent:
        members += f',"userAgent":{quoted(user_agent)}'
    return Client(source_ips, user_agent, members)


@lru_cache(maxsize=_MAX_KEPT)
def decision(outcome: str, reason: str) -> tuple[dict[str, str], str]:
    """Return the annotations of a decision of authorization, which must not be modified, and their JSON."""
    annotations = {_DECISION: outcome, _REASON: reason} if outcome else {_REASON: reason}
    return annotations, f',"annotations":{json_text(annotations)}'


ALLOWED: Final = decision("allow", "")
"""That of most requests."""
