"""Decisions of the policy: bindings, subjects, rules, and the text of reasons."""

from collections.abc import Sequence
from typing import Any

import pytest

from apiext.api.authorization.authorizer import Decision
from apiext.api.authorization.rbac.policy import Binding, RolePolicy, RoleRef, Subject
from apiext.api.authorization.rbac.rules import RoleRule, read_rules
from apiext.base.meta.request import RequestInfo, UserInfo

ANN = UserInfo("ann", ("dev",))
BOT = UserInfo("system:serviceaccount:shop:bot", ("system:serviceaccounts", "system:serviceaccounts:shop"))


def policy_of(*rules: RoleRule, subjects: tuple[Subject, ...] = (Subject("User", "ann"),), namespace: str = "") -> RolePolicy:
    """Return a policy with one role and its binding."""
    policy = RolePolicy()
    policy.put_role("", "reader", rules)
    policy.put_binding(Binding(namespace, "b", RoleRef("ClusterRole", "reader"), subjects))
    return policy


def ask(policy: RolePolicy, user: UserInfo, verb: str = "get", resource: str = "widgets", **more: Any) -> bool:
    """Return whether a request for a resource is allowed."""
    plural, _, subresource = resource.partition("/")
    info = RequestInfo(is_resource=True, verb=verb, group=more.pop("group", "g.io"), resource=plural, subresource=subresource, **more)
    return policy.authorize(user, info).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "resources, resource, allowed",
    [
        (("widgets",), "widgets", True),
        (("widgets",), "widgets/status", False),
        (("widgets/status",), "widgets/status", True),
        (("widgets/status",), "widgets", False),
        (("*",), "widgets/status", True),
        (("*/scale",), "widgets/scale", True),
        (("*/scale",), "scale", False),
        (("widgets/*",), "widgets/scale", False),
    ],
)
def test_matches_resources(resources: tuple[str, ...], resource: str, *, allowed: bool) -> None:
    """Match resources and subresources as the reference does."""
    policy = policy_of(RoleRule(("get",), ("g.io",), resources))

    assert ask(policy, ANN, resource=resource) is allowed


def test_matches_names_groups_and_verbs() -> None:
    """Match names, API groups and verbs, with * for all groups and verbs."""
    policy = policy_of(RoleRule(("get", "update"), ("g.io",), ("widgets",), ("a", "b")), RoleRule(("*",), ("*",), ("gadgets",)))

    assert [ask(policy, ANN, name=name) for name in ("a", "b", "c", "")] == [True, True, False, False]
    assert [ask(policy, ANN, verb, name="a") for verb in ("update", "delete")] == [True, False]
    assert ask(policy, ANN, "anything", "gadgets", group="other.io", name="x")
    assert not ask(policy, ANN, group="other.io", name="a")


@pytest.mark.parametrize(
    "url, path, allowed",
    [("/a", "/a", True), ("/a", "/a/b", False), ("/a/*", "/a/b", True), ("/a*", "/ab", True), ("*", "/x", True), ("/a/*", "/a", False)],
)
def test_matches_paths(url: str, path: str, *, allowed: bool) -> None:
    """Match paths that are no resources; a star at the end stands for any rest."""
    policy = policy_of(RoleRule(("get",), urls=(url,)))

    assert (policy.authorize(ANN, RequestInfo(path=path, verb="get")).decision is Decision.ALLOW) is allowed


@pytest.mark.parametrize(
    "subject, namespace, user, allowed",
    [
        (Subject("User", "ann"), "", ANN, True),
        (Subject("User", "dev"), "", ANN, False),
        (Subject("Group", "dev"), "", ANN, True),
        (Subject("Group", "system:serviceaccounts:shop"), "", BOT, True),
        (Subject("ServiceAccount", "bot", "shop"), "", BOT, True),
        (Subject("ServiceAccount", "bot"), "", BOT, False),
        (Subject("ServiceAccount", "bot"), "shop", BOT, True),
        (Subject("ServiceAccount", "bot", "other"), "shop", BOT, False),
        (Subject("User", "system:serviceaccount:shop:bot"), "", BOT, True),
    ],
)
def test_matches_subjects(subject: Subject, namespace: str, user: UserInfo, *, allowed: bool) -> None:
    """Apply bindings to users, groups and service accounts; a service account's namespace defaults to that of the binding."""
    policy = policy_of(RoleRule(("get",), ("g.io",), ("widgets",)), subjects=(subject,), namespace=namespace)

    assert ask(policy, user, namespace="shop") is allowed


def test_limits_bindings_to_namespaces() -> None:
    """Apply a RoleBinding in its namespace only, and a Role of another namespace never."""
    policy = policy_of(RoleRule(("get",), ("g.io",), ("widgets",)), namespace="shop")

    assert [ask(policy, ANN, namespace=name) for name in ("shop", "other", "")] == [True, False, False]


def test_names_binding_and_subject_in_the_reason() -> None:
    """Return the reference's reasons."""
    rule = RoleRule(("get",), ("g.io",), ("widgets",))
    info = RequestInfo(is_resource=True, verb="get", group="g.io", resource="widgets", namespace="shop")
    subjects = (Subject("User", "x"), Subject("Group", "dev"), Subject("User", "ann"))

    cluster = policy_of(rule, subjects=subjects).authorize(ANN, info)
    local = policy_of(rule, subjects=(Subject("ServiceAccount", "bot"),), namespace="shop").authorize(BOT, info)

    assert cluster.reason == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "dev"'
    assert local.reason == 'RBAC: allowed by RoleBinding "b/shop" of ClusterRole "reader" to ServiceAccount "bot/shop"'


def test_reports_missing_roles() -> None:
    """Name the roles that do not exist, once each, if nothing else allows a request."""
    policy = policy_of(RoleRule(("get",), ("g.io",), ("widgets",)))
    for name, role in (("c", "gone"), ("d", "gone"), ("e", "lost")):
        policy.put_binding(Binding("", name, RoleRef("ClusterRole", role), (Subject("User", "ann"),)))
    policy.put_binding(Binding("shop", "f", RoleRef("Role", "away"), (Subject("User", "ann"),)))
    denied = RequestInfo(is_resource=True, verb="delete", group="g.io", resource="widgets", namespace="shop")

    texts = [f'clusterrole.rbac.authorization.k8s.io "{name}" not found' for name in ("gone", "lost")]
    texts.append('role.rbac.authorization.k8s.io "away" not found')
    assert policy.authorize(ANN, denied).reason == f"rbac: RBAC: [{', '.join(texts)}]"
    assert ask(policy, ANN, namespace="shop")
    assert policy.authorize(BOT, denied).reason == ""


def test_sees_each_change_at_once() -> None:
    """Decide anew after every change of a role or binding."""
    policy = policy_of(RoleRule(("get",), ("g.io",), ("widgets",)))
    assert ask(policy, ANN)

    policy.put_role("", "reader", read_rules([{"verbs": ["list"], "apiGroups": ["g.io"], "resources": ["widgets"]}]))
    assert [ask(policy, ANN, verb) for verb in ("get", "list")] == [False, True]

    policy.put_binding(Binding("", "b", RoleRef("ClusterRole", "reader"), (Subject("Group", "ops"),)))
    assert not ask(policy, ANN, "list")
    assert ask(policy, UserInfo("x", ("ops",)), "list")

    policy.remove_role("", "reader")
    assert not ask(policy, UserInfo("x", ("ops",)), "list")

    policy.remove_binding("", "b")
    assert policy.rules_for(UserInfo("x", ("ops",)), "") == ([], [])


def test_forgets_grants_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a bounded number of grants."""
    monkeypatch.setattr("apiext.api.authorization.rbac.policy.MAX_GRANTS", 3)
    policy, made = policy_of(RoleRule(("get",), ("g.io",), ("widgets",))), list[str]()
    rules_of = RolePolicy.rules_of

    def noted(of: RolePolicy, role: RoleRef, namespace: str) -> Sequence[RoleRule]:
        made.append(role.name)
        return rules_of(of, role, namespace)

    monkeypatch.setattr(RolePolicy, "rules_of", noted)

    assert all(ask(policy, ANN, namespace=f"n{number}") for number in (*range(10), 9, 0))
    assert len(made) == 11
