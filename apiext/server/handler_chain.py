"""The handler chain: all filters as one list, outermost first (apiserver pkg/server/config.go, DefaultBuildHandlerChain)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from apiext.api.authentication.request_header import FrontProxyUsers
from apiext.api.endpoints.request import SERVES_CBOR, SERVES_SHARDS, bound
from apiext.api.filters.authentication import Authentication, FrontProxyUser, Refused, Reviewer
from apiext.api.filters.authorization import Authorization
from apiext.api.filters.cors import CORS
from apiext.api.filters.enabled_features import EnabledFeatures
from apiext.api.filters.failures import ErrorRendering, PanicRecovery
from apiext.api.filters.headers import HSTS, AuditID, CacheControl, WarningRecorder
from apiext.api.filters.impersonation import ImpersonationFilter
from apiext.api.filters.max_in_flight import InFlight, MaxInFlight
from apiext.api.filters.metrics import RequestMetrics, RequestStats
from apiext.api.filters.priority_and_fairness import PriorityAndFairness
from apiext.api.filters.request_deadline import RequestDeadline
from apiext.api.filters.request_info import WithRequestInfo
from apiext.api.filters.request_logging import RequestLogging
from apiext.api.flowcontrol.phase import Phase
from apiext.server.options.feature_gates import CBOR_GATE, SHARDS_GATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Tracer

    from apiext.api.authorization.authorizer import AuthorizationModes
    from apiext.api.endpoints.request import Handler
    from apiext.api.filters.auditing import Auditing
    from apiext.api.flowcontrol.flow_control import FlowControl
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.server.host.delegated_authentication import Delegation
    from apiext.server.options.options import AuthenticationOptions, LimitOptions, ServerOptions

_LOG_ALL_VERBOSITY = 3
"""`-v` from which every request is logged, as in the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainParts:
    """Objects that filters share with other parts of the server."""

    tokens: Mapping[str, UserInfo]
    """Static tokens."""
    modes: AuthorizationModes
    authorized_by_host: Callable[[RequestInfo], bool] | None = None
    """Decides on requests of front proxies in mode FrontProxy."""
    reviewer: Reviewer | None = None
    """Authenticates other tokens."""
    stats: RequestStats = field(default_factory=RequestStats)
    in_flight: InFlight = field(default_factory=InFlight)
    """Requests that run without flow control."""
    flow_control: FlowControl | None = None
    """With None, --max-requests-inflight and --max-mutating-requests-inflight limit requests."""
    delegation: Delegation | None = None
    """Authentication by another server."""
    tracer: Tracer | None = None
    """The tracer of `--tracing-config-file`."""
    auditing: Auditing | None = None
    """The policy and the outputs of audit."""

    def current_requests(self) -> Counter[tuple[Phase, str]]:
        """Return the number of requests by phase and kind."""
        if self.flow_control is not None:
            return self.flow_control.controller.count_requests()
        return Counter({(Phase.EXECUTING, kind): count for kind, count in self.in_flight.items()})


def build_chain(handler: Handler, options: ServerOptions, parts: ChainParts) -> Handler:
    """Return the handler wrapped in all filters."""
    for wrap in reversed(_filters(options, parts)):
        handler = wrap(bound(handler))
    return bound(handler)


def _filters(options: ServerOptions, parts: ChainParts) -> list[Callable[[Handler], Handler]]:
    limits, modes = options.limits, parts.modes
    hsts = [partial(HSTS, directives=options.hsts_directives)] if options.hsts_directives else []
    cors = [partial(CORS, origins=[re.compile(pattern) for pattern in options.cors_origins])] if options.cors_origins else []
    unsafe_deletion = options.feature_gates.enabled("AllowUnsafeMalformedObjectDeletion")
    tracing: list[Callable[[Handler], Handler]] = []
    if parts.tracer is not None:
        from apiext.api.filters.tracing import Tracing

        tracing.append(partial(Tracing, tracer=parts.tracer))
    init, audit = _audit(parts.auditing, plain=not unsafe_deletion)
    audited = parts.auditing is not None and not parts.auditing.records_nothing
    # Steps need no coroutines (api/filters/before_request.py).
    return [
        PanicRecovery,
        init,
        WithRequestInfo,
        *_features(options),
        *hsts,
        CacheControl,
        WarningRecorder,
        partial(RequestLogging, everything=options.verbosity >= _LOG_ALL_VERBOSITY),
        partial(ErrorRendering, plain=not unsafe_deletion),
        partial(RequestDeadline, maximum=limits.request_timeout, stats=parts.stats, refused=_refused(parts)),
        *cors,
        _authentication(options.authentication, parts),
        *tracing,
        *audit,
        partial(
            ImpersonationFilter,
            authorize=modes.authorize,
            constrained=options.feature_gates.enabled("ConstrainedImpersonation"),
            audited=audited,
        ),
        _limit(limits, parts),
        partial(
            Authorization,
            modes=modes,
            authorized_by_host=parts.authorized_by_host,
            unsafe_deletion=unsafe_deletion,
            audited=audited,
        ),
        partial(RequestMetrics, stats=parts.stats),
    ]


def _features(options: ServerOptions) -> list[Callable[[Handler], Handler]]:
    gates = {CBOR_GATE: SERVES_CBOR, SHARDS_GATE: SERVES_SHARDS}
    features = [feature for gate, feature in gates.items() if options.feature_gates.enabled(gate)]
    return [partial(EnabledFeatures, features=features)] if features else []


def _limit(limits: LimitOptions, parts: ChainParts) -> Callable[[Handler], Handler]:
    """Return the filter that limits concurrent requests."""
    if parts.flow_control is not None:
        return partial(
            PriorityAndFairness,
            flow_control=parts.flow_control,
            maximum=limits.request_timeout,
            stats=parts.stats,
            audited=parts.auditing is not None and not parts.auditing.records_nothing,
        )
    return partial(
        MaxInFlight,
        read_only=limits.max_in_flight,
        mutating=limits.max_mutating_in_flight,
        in_flight=parts.in_flight,
        stats=parts.stats,
    )


def _authentication(options: AuthenticationOptions, parts: ChainParts) -> Callable[[Handler], Handler]:
    """Return the authentication filter."""
    front_proxy: FrontProxyUser | None = parts.delegation.front_proxy if parts.delegation else None
    if options.front_proxy_ca_file:
        front_proxy = FrontProxyUsers(options.front_proxy_headers).user
    return partial(
        Authentication,
        anonymous=options.anonymous,
        tokens=parts.tokens,
        front_proxy=front_proxy,
        expirations=parts.stats.certificates,
        reviewer=parts.reviewer,
        refused=_refused(parts),
    )


def _audit(auditing: Auditing | None, *, plain: bool) -> tuple[Callable[[Handler], Handler], list[Callable[[Handler], Handler]]]:
    """Return the filter that sets the Audit-ID, and begins an event, and the one that emits the event. Few servers audit."""
    if auditing is None:
        return AuditID, []
    from apiext.api.filters.auditing import Audit, AuditInit

    return AuditID if auditing.records_nothing else AuditInit, [partial(Audit, auditing=auditing, plain=plain)]


def _refused(parts: ChainParts) -> Refused | None:
    """Return what records requests that are refused before the audit filter."""
    return parts.auditing.refuse if parts.auditing is not None else None
