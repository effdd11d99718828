"""The chain of filters as one list, outermost first (apiserver pkg/server/config.go, DefaultBuildHandlerChain)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from apiext.authentication.request_header import RequestHeaders
from apiext.authorization.authorizer import AlwaysAllowPaths, Authenticated, Authorizer, PrivilegedGroup, Union
from apiext.authorization.modes import Modes
from apiext.filters.audit_id import AuditID
from apiext.filters.authentication import Authentication, Credentials, VouchedUsers
from apiext.filters.authorization import Authorization
from apiext.filters.cache_control import CacheControl
from apiext.filters.cors import CORS
from apiext.filters.error_rendering import ErrorRendering
from apiext.filters.hsts import HSTS
from apiext.filters.impersonation import ImpersonationFilter
from apiext.filters.max_in_flight import InFlight, MaxInFlight
from apiext.filters.metrics import RequestMetrics, RequestNumbers
from apiext.filters.panic_recovery import PanicRecovery
from apiext.filters.request_deadline import RequestDeadline
from apiext.filters.request_info import WithRequestInfo
from apiext.filters.request_logging import RequestLogging
from apiext.filters.warning import WarningRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Tracer

    from apiext.authorization.webhook import Reviews
    from apiext.endpoints.request import Handler
    from apiext.meta.request import UserInfo
    from apiext.server.host.delegated_authentication import Delegation
    from apiext.server.options import AuthenticationOptions, AuthorizationOptions, Options

_LOG_ALL_FROM = 3
"""Verbosity from which every request is logged, as in the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainParts:
    """What filters share with other parts of the server."""

    tokens: Mapping[str, UserInfo] = field(default_factory=dict)
    numbers: RequestNumbers
    in_flight: InFlight
    delegation: Delegation | None = None
    """Who knows clients that the server itself does not know."""
    reviews: Reviews | None = None
    """Who decides with `--authorization-mode Webhook`."""
    tracer: Tracer | None = None
    """What opens spans with `--tracing-config-file`."""


def build_chain(handler: Handler, options: Options, parts: ChainParts) -> Handler:
    """The handler with all filters around it."""
    for wrap in reversed(_filters(options, parts)):
        handler = wrap(handler)
    return handler


def _filters(options: Options, parts: ChainParts) -> list[Callable[[Handler], Handler]]:
    limits, modes = options.limits, _modes(options.authorization, parts.reviews)
    optional: list[Callable[[Handler], Handler]] = []
    if options.hsts_directives:
        optional.append(partial(HSTS, directives=options.hsts_directives))
    cors: list[Callable[[Handler], Handler]] = []
    if options.cors_origins:
        cors.append(partial(CORS, origins=[re.compile(pattern) for pattern in options.cors_origins]))
    tracing: list[Callable[[Handler], Handler]] = []
    if parts.tracer is not None:
        from apiext.filters.tracing import Tracing

        tracing.append(partial(Tracing, tracer=parts.tracer))
    # Steps that follow each other cost one frame together (filters/step.py).
    return [
        PanicRecovery,
        AuditID,
        WithRequestInfo,
        *optional,
        CacheControl,
        WarningRecorder,
        partial(RequestLogging, everything=options.verbosity >= _LOG_ALL_FROM),
        ErrorRendering,
        partial(RequestDeadline, maximum=limits.request_timeout, numbers=parts.numbers),
        *cors,
        _authentication(options.authentication, parts),
        *tracing,
        partial(ImpersonationFilter, decide=modes.authorize, constrained=options.feature_gates.get("ConstrainedImpersonation", True)),
        partial(
            MaxInFlight,
            read_only=limits.max_in_flight,
            mutating=limits.max_mutating_in_flight,
            in_flight=parts.in_flight,
            numbers=parts.numbers,
        ),
        _authorization(modes, unsafe_deletion=options.feature_gates.get("AllowUnsafeMalformedObjectDeletion", True)),
        partial(RequestMetrics, numbers=parts.numbers),
    ]


def _authentication(options: AuthenticationOptions, parts: ChainParts) -> Callable[[Handler], Handler]:
    """The filter that finds out who it is."""
    front_proxy: VouchedUsers | None = parts.delegation.front_proxy if parts.delegation else None
    if options.front_proxy_ca_file:
        front_proxy = RequestHeaders(
            username=options.username_headers,
            uid=options.uid_headers,
            group=options.group_headers,
            extra_prefixes=options.extra_header_prefixes,
        )
    lives = parts.numbers.certificates
    if parts.delegation is None:
        return partial(Authentication, anonymous=options.anonymous, tokens=parts.tokens, front_proxy=front_proxy, lives=lives)
    from apiext.filters.delegated_authentication import DelegatedAuthentication

    credentials = Credentials(anonymous=options.anonymous, tokens=parts.tokens, front_proxy=front_proxy, lives=lives)
    return partial(DelegatedAuthentication, credentials=credentials, reviewer=parts.delegation.tokens)


def _modes(options: AuthorizationOptions, reviews: Reviews | None) -> Modes:
    """Who decides, in the order in which they are asked."""
    always: list[Authorizer] = [PrivilegedGroup(), AlwaysAllowPaths(options.always_allow_paths)]
    everybody: list[Authorizer] = [Authenticated()]
    if reviews is None:
        return Modes(before=Union([*everybody, *always]))
    allowing = "AlwaysAllow" in options.modes
    first = allowing and options.modes.index("AlwaysAllow") < options.modes.index("Webhook")
    before, after = [*always, *(everybody if first else [])], everybody if allowing else []
    return Modes(before=Union(before), delegate=reviews, after=Union(after))


def _authorization(modes: Modes, *, unsafe_deletion: bool) -> Callable[[Handler], Handler]:
    """The filter that asks them."""
    if modes.delegate is None:
        return partial(Authorization, authorizer=modes.before, unsafe_deletion=unsafe_deletion)
    # loaded where another server decides, which is seldom
    from apiext.filters.delegated_authorization import DelegatedAuthorization

    return partial(DelegatedAuthorization, modes=modes, unsafe_deletion=unsafe_deletion)
