"""Composition of authentication by tokens and of authorization, for the filters and for reviews."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.authorization.authorizer import AuthorizationModes, always_allow_paths, is_authenticated, is_master
from apiext.api.authorization.conditional import GATE
from apiext.api.authorization.conditional import HEALTH_CHECK as CONDITIONS_CHECK
from apiext.api.authorization.front_proxy import HEALTH_CHECK, authorized_by_host, unsafe_front_proxies
from apiext.base.meta.host_annotations import HOLD_PATH
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import run_until_closed
from apiext.server.host.clients import open_authorizer
from apiext.server.options.authorization_modes import ALWAYS_ALLOW, FRONT_PROXY, RBAC, WEBHOOK
from apiext.server.routes.healthz import HealthCheck
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack

    from apiext.api.authentication.tokens import Authenticate, TokenAuthenticator
    from apiext.api.authorization.authorizer import Authorize, Decide
    from apiext.api.authorization.rbac.policy import RolePolicy
    from apiext.api.authorization.rule_resolver import ResolveRules
    from apiext.api.filters.authentication import Reviewer
    from apiext.base.meta.request import RequestInfo
    from apiext.server.host.clients import HostClients
    from apiext.server.host.conditional_authorization import HostConditions
    from apiext.server.host.delegated_authentication import Delegation
    from apiext.server.options.options import AuthorizationOptions, ServerOptions
    from apiext.server.tls.credentials import ServerCredentials
    from apiext.server.tls.dynamic_tls import DynamicTLS


_LOG: Final = get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class AccessControl:
    """How requests are authenticated by tokens, and authorized."""

    modes: AuthorizationModes
    dynamic_tls: DynamicTLS
    """What the server trusts now."""
    policy: RolePolicy | None = None
    """The roles and bindings of mode RBAC."""
    order: tuple[str, ...] = ()
    """The authorization modes that decide on every question, thus all but FrontProxy."""
    authenticators: list[TokenAuthenticator] = field(default_factory=list)
    """Those of bearer tokens, in their order. Empty for a server without reviews."""
    delegation: Delegation | None = None
    readiness: list[HealthCheck] = field(default_factory=list)
    """The checks of mode FrontProxy, which only a server with this mode has."""
    conditions: HostConditions | None = None
    """Suspends mode FrontProxy while the host authorizes with conditions; None if no host is named."""

    @property
    def authorize(self) -> Authorize:
        """Return what authorizes requests."""
        return self.modes.authorize

    def authorized_by_host(self, serves: Callable[[str], bool]) -> Callable[[RequestInfo], bool] | None:
        """Return what decides on requests of front proxies, None without mode FrontProxy. `serves` says whether a group is the host's."""
        if not self.readiness:
            return None
        decides, conditions = authorized_by_host(serves), self.conditions
        return decides if conditions is None else lambda info: not conditions.reason and decides(info)

    async def follow_conditions(self, options: ServerOptions, clients: HostClients, stack: AsyncExitStack) -> None:
        """Ask the host of mode FrontProxy until `stack` closes whether it authorizes with conditions. Other modes need no answer.

        Raises:
            StartError: it does.
        """
        host = options.host or options.authorization.delegate or options.authentication.delegate
        if not self.readiness:
            return
        if host is None:
            _LOG.warning("no kubeconfig of the host, which must not authorize with conditions", mode=FRONT_PROXY, gate=GATE)
            return
        # few servers have the mode
        from apiext.server.host.conditional_authorization import HostConditions

        conditions = self.conditions = HostConditions(clients.client(host))
        await conditions.read()
        if conditions.found:
            raise StartError(f"--authorization-mode: FrontProxy would skip the conditions of authorizers: {conditions.found}")
        self.readiness.append(_conditions_check(conditions))
        run_until_closed(stack, conditions.follow())

    def authenticate(self) -> Authenticate:
        """Return what authenticates bearer tokens."""
        from apiext.api.authentication.tokens import union

        return union(self.authenticators)

    def reviewer(self) -> Reviewer | None:
        """Return what authenticates requests by tokens that are not static; None if there are none."""
        if not self.authenticators:
            return self.delegation.tokens.user if self.delegation is not None else None
        from apiext.api.authentication.tokens import reviewer

        return reviewer(self.authenticate())

    def resolver(self) -> ResolveRules:
        """Return the rules of all modes."""
        from apiext.api.authorization import rule_resolver

        found: dict[str, ResolveRules] = {ALWAYS_ALLOW: rule_resolver.allow_everything, WEBHOOK: rule_resolver.unknown_rules}
        if self.policy is not None:
            found[RBAC] = rule_resolver.of_policy(self.policy)
        return rule_resolver.union([found[mode] for mode in self.order])


def open_access(
    options: ServerOptions,
    clients: HostClients,
    credentials: ServerCredentials,
    delegation: Delegation | None,
) -> AccessControl:
    """Return the access of a server. A standalone one also authenticates static tokens by reviews.

    Raises:
        StartError: the server of SubjectAccessReviews has an invalid address or credentials.
    """
    policy = None
    if RBAC in options.authorization.modes:
        # most servers have no RBAC
        from apiext.api.authorization.rbac.policy import RolePolicy

        policy = RolePolicy()
    modes = _modes(options.authorization, clients, policy)
    order = tuple(mode for mode in options.authorization.modes if mode != FRONT_PROXY)
    access = AccessControl(modes=modes, dynamic_tls=credentials.dynamic_tls, policy=policy, order=order, delegation=delegation)
    if FRONT_PROXY in options.authorization.modes:
        access.readiness.append(_front_proxy_check(credentials))
    if options.host is None:
        _add_authenticators(access, options, credentials)
    return access


def _add_authenticators(access: AccessControl, options: ServerOptions, credentials: ServerCredentials) -> None:
    from apiext.api.authentication.tokens import reviewed_tokens, static_tokens

    audiences = options.authentication.own_audiences
    access.authenticators.append(static_tokens(credentials.tokens, audiences))
    if access.delegation is not None:
        access.authenticators.append(reviewed_tokens(access.delegation.tokens))


def _front_proxy_check(credentials: ServerCredentials) -> HealthCheck:
    """Return the readiness check of mode FrontProxy, which always passes; its remark is for `apiext doctor`."""

    async def passes() -> None:
        """Pass: the host would take an unready server out of service, which helps nobody."""

    def remarks() -> list[str]:
        trust = credentials.dynamic_tls.identification
        reason = unsafe_front_proxies(trust.proxy_names if trust.proxies is not None else None)
        return [reason] if reason else []

    return HealthCheck(HEALTH_CHECK, passes, remarks)


def _conditions_check(conditions: HostConditions) -> HealthCheck:
    """Return a readiness check that always passes; its remark tells `apiext doctor` why mode FrontProxy is suspended."""

    async def passes() -> None:
        """Pass: other modes decide meanwhile."""

    return HealthCheck(CONDITIONS_CHECK, passes, lambda: [conditions.reason] if conditions.reason else [])


def _modes(options: AuthorizationOptions, clients: HostClients, policy: RolePolicy | None) -> AuthorizationModes:
    """Return the modes in their order around that of another server."""
    local: dict[str, Decide] = {ALWAYS_ALLOW: is_authenticated}
    if policy is not None:
        local[RBAC] = policy.authorize
    # the host sends its reviews without credentials
    always: list[Decide] = [is_master, always_allow_paths((*options.always_allow_paths, HOLD_PATH))]
    place = options.modes.index(WEBHOOK) if WEBHOOK in options.modes else len(options.modes)
    before = [local[mode] for mode in options.modes[:place] if mode in local]
    after = [local[mode] for mode in options.modes[place:] if mode in local]
    # a mode that allows nearly everything comes first, since it is fastest
    first = [*before, *always] if options.modes[:1] == (ALWAYS_ALLOW,) else [*always, *before]
    return AuthorizationModes(before=first, delegate=open_authorizer(options, clients), after=after)
