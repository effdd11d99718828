"""Comparison of rules: those that others do not cover, which their holder must not grant.

Mirrors component-helpers auth/rbac/validation/policy_comparator.go and kubernetes pkg/registry/rbac/validation (rule.go,
policy_compact.go).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from apiext.api.authorization.rbac.rules import ALL, RoleRule, covers_url
from apiext.base.meta.golang import formatting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apiext.api.authorization.rbac.policy import RolePolicy
    from apiext.base.meta.request import UserInfo


class EscalationError(Exception):
    """A user grants rights that it does not have. The message names them."""


def confirm_no_escalation(policy: RolePolicy, user: UserInfo, namespace: str, granted: Iterable[RoleRule], *, written: str) -> None:
    """Check that a user has all rights that it grants by the write of a resource.

    Raises:
        EscalationError: it does not.
    """
    held, problems = policy.rules_for(user, namespace, written=written)
    missing = missing_rules(held, granted)
    if not missing:
        return
    shown = sorted({str(rule) for rule in _compacted(missing)})
    groups = " ".join(map(formatting.quote, user.groups))
    message = f"user {formatting.quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n"
    message += "\n".join(shown)
    if problems:
        found = list(dict.fromkeys(problems))
        # the reference prints a list of one aggregate
        message += f"; resolution errors: [{found[0] if len(found) == 1 else '[' + ', '.join(found) + ']'}]"
    raise EscalationError(message)


def missing_rules(owned: Sequence[RoleRule], wanted: Iterable[RoleRule]) -> list[RoleRule]:
    """Return the parts of the wanted rules that no owned rule covers, each with one verb, resource and name."""
    return [part for rule in wanted for part in _parts(rule) if not any(_covers(owner, part) for owner in owned)]


def _parts(rule: RoleRule) -> Iterator[RoleRule]:
    for group, resource, verb in product(rule.groups, rule.resources, rule.verbs):
        yield from (RoleRule((verb,), (group,), (resource,), (name,)) for name in rule.names)
        if not rule.names:
            yield RoleRule((verb,), (group,), (resource,))
    for url, verb in product(rule.urls, rule.verbs):
        yield RoleRule((verb,), urls=(url,))


def _covers(owner: RoleRule, part: RoleRule) -> bool:
    """Return whether a rule covers one with at most one member in each field."""
    if ALL not in owner.verbs and part.verbs[0] not in owner.verbs:
        return False
    if part.urls:
        return any(covers_url(url, part.urls[0]) for url in owner.urls)
    if ALL not in owner.groups and part.groups[0] not in owner.groups:
        return False
    resource = part.resources[0]
    if ALL not in owner.resources and resource not in owner.resources:
        _, slash, subresource = resource.partition("/")
        if not slash or f"*/{subresource}" not in owner.resources:
            return False
    return not owner.names or (bool(part.names) and part.names[0] in owner.names)


def _compacted(rules: Iterable[RoleRule]) -> list[RoleRule]:
    """Return rules that differ only in their verbs as one."""
    merged: dict[RoleRule, tuple[str, ...]] = {}
    for rule in rules:
        # rules for paths stay apart, as upstream
        key = rule if rule.urls else rule._replace(verbs=())
        merged[key] = rule.verbs if rule.urls else (*merged.get(key, ()), *rule.verbs)
    return [key._replace(verbs=verbs) for key, verbs in merged.items()]
