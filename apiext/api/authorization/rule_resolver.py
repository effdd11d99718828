"""The rules that authorization modes apply to a user, for SelfSubjectRulesReviews.

Mirrors the RuleResolvers of apiserver pkg/authorization (authorizer, authorizerfactory, union) and plugin/pkg/authorizer/webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.api.authorization.rbac.rules import ALL, RoleRule
from apiext.base.meta.field import aggregate
from apiext.base.meta.request import UserInfo

if TYPE_CHECKING:
    from apiext.api.authorization.rbac.policy import RolePolicy


@dataclass(slots=True)
class ResolvedRules:
    """The rules that apply to a user."""

    rules: list[RoleRule] = field(default_factory=list)
    incomplete: bool = False
    """Whether other rules may apply, too."""
    problems: list[str] = field(default_factory=list)


ResolveRules = Callable[[UserInfo, str], ResolvedRules]
"""Returns the rules that apply to a user in a namespace."""
_EVERYTHING: Final = (RoleRule((ALL,), (ALL,), (ALL,), urls=(ALL,)),)
_UNKNOWN: Final = "webhook authorizer does not support user rule resolution"


def allow_everything(_user: UserInfo, _namespace: str) -> ResolvedRules:
    """Return a rule for everything, as mode AlwaysAllow has it."""
    return ResolvedRules(list(_EVERYTHING))


def unknown_rules(_user: UserInfo, _namespace: str) -> ResolvedRules:
    """Return no rule, as mode Webhook does not know them."""
    return ResolvedRules(incomplete=True, problems=[_UNKNOWN])


def of_policy(policy: RolePolicy) -> ResolveRules:
    """Return the resolver of mode RBAC."""

    def resolve(user: UserInfo, namespace: str) -> ResolvedRules:
        rules, problems = policy.rules_for(user, namespace)
        return ResolvedRules(rules, problems=[aggregate(problems)] if problems else [])

    return resolve


def union(resolvers: Sequence[ResolveRules]) -> ResolveRules:
    """Return the resolver with the rules of all others."""
    return resolvers[0] if len(resolvers) == 1 else partial(_resolve_all, tuple(resolvers))


def _resolve_all(resolvers: Sequence[ResolveRules], user: UserInfo, namespace: str) -> ResolvedRules:
    found = [resolve(user, namespace) for resolve in resolvers]
    return ResolvedRules(
        [rule for one in found for rule in one.rules],
        any(one.incomplete for one in found),
        [problem for one in found for problem in one.problems],
    )
