"""Comparison of rules, and the message about rights that a user does not have."""

import pytest

from apiext.api.authorization.rbac.escalation import EscalationError, confirm_no_escalation, missing_rules
from apiext.api.authorization.rbac.policy import Binding, RolePolicy, RoleRef, Subject
from apiext.api.authorization.rbac.rules import RoleRule
from apiext.base.meta.request import UserInfo

READ = RoleRule(("get", "list"), ("g.io",), ("widgets", "*/scale"))


@pytest.mark.parametrize(
    "wanted, covered",
    [
        (RoleRule(("get",), ("g.io",), ("widgets",)), True),
        (RoleRule(("get",), ("g.io",), ("widgets",), ("a",)), True),
        (RoleRule(("get",), ("g.io",), ("gadgets/scale",)), True),
        (RoleRule(("get",), ("g.io",), ("widgets/status",)), False),
        (RoleRule(("*",), ("g.io",), ("widgets",)), False),
        (RoleRule(("get",), ("*",), ("widgets",)), False),
        (RoleRule(("get",), urls=("/x",)), False),
    ],
)
def test_compares_rules(wanted: RoleRule, *, covered: bool) -> None:
    """Cover a rule by wildcards, subresources of all resources, and rules without names."""
    assert (not missing_rules([READ], [wanted])) is covered


def test_compares_names_and_urls() -> None:
    """Cover names by the same names only, and URLs by prefixes."""
    owner = [RoleRule(("get",), ("g.io",), ("widgets",), ("a",)), RoleRule(("get",), urls=("/a/*",))]

    assert missing_rules(owner, [RoleRule(("get",), ("g.io",), ("widgets",), ("a", "b"))]) == [
        RoleRule(("get",), ("g.io",), ("widgets",), ("b",))
    ]
    assert missing_rules(owner, [RoleRule(("get",), ("g.io",), ("widgets",))])
    assert missing_rules(owner, [RoleRule(("get",), urls=("/a/b", "/a"))]) == [RoleRule(("get",), urls=("/a",))]


def test_names_missing_rights() -> None:
    """Sort the missing rights, join verbs of the same resource, and name missing roles."""
    policy = RolePolicy()
    policy.put_binding(Binding("", "b", RoleRef("ClusterRole", "gone"), (Subject("User", "ann"),)))
    granted = [RoleRule(("list", "get"), ("g.io", ""), ("widgets",)), RoleRule(("get",), urls=("/x",))]

    with pytest.raises(EscalationError) as raised:
        confirm_no_escalation(policy, UserInfo("ann", ("dev", "ops")), "", granted, written="roles")

    assert str(raised.value) == (
        'user "ann" (groups=["dev" "ops"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["widgets"], Verbs:["list" "get"]}\n'
        '{APIGroups:["g.io"], Resources:["widgets"], Verbs:["list" "get"]}\n'
        '{NonResourceURLs:["/x"], Verbs:["get"]}'
        '; resolution errors: [roles.rbac.authorization.k8s.io "gone" not found]'
    )
