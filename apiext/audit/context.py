"""The audit context of a request, from its arrival to its answer (apiserver pkg/audit/context.go and request.go)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from apiext.audit.event import AuditEvent, RequestFacts, decision
from apiext.audit.levels import AuditLevel, AuditStage
from apiext.audit.request_record import RequestRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from apiext.audit.backend import AuditSink
    from apiext.audit.policy import AuditSettings
    from apiext.meta.request import RequestInfo, UserInfo

_REASON: Final = "authorization.k8s.io/reason"
_RECEIVED: Final = AuditStage.REQUEST_RECEIVED
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
_STATUS_MEMBERS: Final = ("status", "message", "reason", "details", "code")


class AuditContext(RequestFacts):
    """Collects the event of one request, and gives it to the sink at each stage."""

    _sink: AuditSink | None = None
    _started = long_running = False
    # nanoseconds since 1970; 0 before
    _authenticated = _authorizing = _authorized = 0
    deprecated = False
    """Whether the requested version is deprecated."""

    def begin(self, settings: AuditSettings, sink: AuditSink, user: UserInfo | None, info: RequestInfo) -> None:
        """Take the settings that the policy has for the request. `user` is None if its authentication has failed."""
        self.settings, self._sink = settings, sink
        self.user, self.info = user, info
        self.long_running = info.long_running
        self._authenticated = time.time_ns()

    @property
    def enabled(self) -> bool:
        """Return whether the request is recorded."""
        return self.settings.level is not AuditLevel.NONE

    @property
    def records_response(self) -> bool:
        """Return whether the event includes the object of the response."""
        return self.settings.level is AuditLevel.REQUEST_RESPONSE

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
        self._authorizing = time.time_ns()

    def decide(self, reason: str, *, allowed: bool, begun: int = 0) -> None:
        """Add the decision of authorization. It was `begun` at a time as `received`, if that is not noted yet."""
        self._authorizing = self._authorizing or begun
        self._authorized = time.time_ns()
        found = decision("allow" if allowed else "forbid", reason)
        if self.annotations is None:
            # nearly all requests
            self.decided, self.annotations = found, found[0]
        else:
            for key, value in found[0].items():
                self.annotate(key, value)

    def fail_decision(self) -> None:
        """Note that authorization has failed."""
        self._authorized = time.time_ns()
        self.annotate(_REASON, "internal error")

    def write_record(self) -> RequestRecord:
        """Return the record for the execution of the request's write."""
        if self.record is None:
            self.record = RequestRecord(self.settings.level >= AuditLevel.REQUEST, self.settings.omit_managed_fields)
        return self.record

    def impersonate(self, user: UserInfo, constraint: str) -> None:
        """Note the user whom the request impersonates, and the mode of constrained impersonation."""
        self.impersonated, self.constraint = user, constraint

    def take_status(self, status: Mapping[str, Any]) -> None:
        """Note the Status of the response."""
        # empty details are a pointer in the reference
        self.status = {name: status[name] for name in _STATUS_MEMBERS if status.get(name) or (name == "details" and name in status)}

    def take_code(self, code: int) -> None:
        """Note the code of the response, which completes a Status."""
        # a new dict: earlier events keep theirs
        self.status = {"code": code} if self.status is None else {**self.status, "code": code}

    def track(self, part: str, seconds: float) -> None:
        """Add time that a part of the server has taken."""
        if self.latencies is None:
            self.latencies = {}
        self.latencies[part] = self.latencies.get(part, 0.0) + seconds

    def all_latencies(self) -> dict[str, float]:
        """Return the seconds by the parts of the server, including admission; those of a watch have no meaning."""
        if self.info is None or self.info.verb == "watch":
            return {}
        found = {"authentication": (self._authenticated - self.received) / 1e9}
        if self._authorizing:
            # a request that was cut off meanwhile has no decision
            found["authorization"] = ((self._authorized or time.time_ns()) - self._authorizing) / 1e9
        return {**found, **(self.latencies or {}), **(self.record.latencies if self.record is not None else {})}

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
        if self.deprecated:
            self.annotate("k8s.io/deprecated", "true")
        if moment is None:
            moment = time.time_ns()
        sink, omitted = self._sink, self.settings.omit_stages
        if sink is None or (omitted and _COMPLETE in omitted):
            return None
        if self.record is None and self.response is None and self.impersonated is None:
            # most requests
            return sink.complete(self, moment)
        return sink.process((AuditEvent(self, _COMPLETE, moment),))

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
