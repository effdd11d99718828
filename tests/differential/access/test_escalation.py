"""Writes of roles and bindings by users that lack rights in them."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Step
from hack.lib.differential.rbac_cases import API, GROUP
from tests.differential.helpers.rbac_pair import RBACPair, as_user, must

pytestmark = pytest.mark.slow

LOCAL: Final = f"{API}/namespaces/rbac-b"
READ: Final = {"verbs": ["get"], "apiGroups": ["esc.io"], "resources": ["widgets"]}
MORE: Final = {"verbs": ["list", "get"], "apiGroups": ["esc.io", ""], "resources": ["widgets", "gadgets"], "resourceNames": ["b", "a"]}
PATHS: Final = {"verbs": ["get"], "nonResourceURLs": ["/esc", "/esc/*"]}
ALL: Final = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
AGGREGATED: Final = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}


def role(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a role."""
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, kind: str, to: str, user: str = "esc-x") -> dict[str, Any]:
    """Return a binding."""
    subject = {"apiGroup": GROUP, "kind": "User", "name": user}
    return {"metadata": {"name": name}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to}, "subjects": [subject]}


def _prepared() -> Iterator[Step]:
    """Yield roles, and users: esc-ann may write roles and has READ; esc-bob may escalate some and bind to some."""
    writes = {"verbs": ["*"], "apiGroups": [GROUP], "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]}
    limited = {**writes, "verbs": ["create", "update", "patch", "get", "delete"]}
    escalate = {"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles", "clusterroles"], "resourceNames": ["esc-allowed"]}
    bind = {**escalate, "verbs": ["bind"], "resourceNames": ["esc-wide"]}
    for name, rules in (("esc-writer", [limited, READ]), ("esc-escalator", [limited, escalate, bind]), ("esc-wide", ALL)):
        yield Step("POST", f"{API}/clusterroles", role(name, *rules))
    yield Step("POST", f"{API}/clusterroles", role("esc-allowed", READ))
    yield Step("POST", f"{API}/clusterroles", role("esc-reader", READ))
    yield Step("POST", f"{API}/clusterroles", role("esc-aggregated", aggregationRule=AGGREGATED))
    yield Step("POST", f"{LOCAL}/roles", role("esc-local", MORE))
    for user, to in (("esc-ann", "esc-writer"), ("esc-bob", "esc-escalator"), ("esc-root", "cluster-admin"), ("esc-cat", "esc-gone")):
        yield Step("POST", f"{API}/clusterrolebindings", binding(f"esc-{user}", "ClusterRole", to, user))
    yield Step("POST", f"{API}/clusterrolebindings", binding("esc-cat-too", "ClusterRole", "esc-writer", "esc-cat"))


def test_escalation(servers: RBACPair) -> None:
    """Allow and refuse the same writes, with the same texts."""
    for step in _prepared():
        for side in (servers.pair.reference, servers.pair.ours):
            must(side, step)
    servers.settle()

    servers.check([as_user(step, user, "esc-group") for user in ("esc-ann", "esc-bob", "esc-cat", "esc-root") for step in _writes(user)])


def _writes(user: str) -> Iterator[Step]:
    for place, kind in ((API + "/cluster", "ClusterRole"), (LOCAL + "/", "Role")):
        for number, rules in enumerate(([READ], [MORE], [READ, MORE, *([PATHS] if kind == "ClusterRole" else [])], ALL[:1])):
            yield Step("POST", f"{place}roles", role(f"{user}-{number}", *rules))
            yield Step("POST", f"{place}roles?dryRun=All", role("esc-allowed", *rules))
        yield Step("PUT", f"{place}roles/{user}-0", role(f"{user}-0", MORE))
        yield Step("PATCH", f"{place}roles/{user}-0", {"rules": [MORE]})
        yield Step("PATCH", f"{place}roles/{user}-0", {"metadata": {"labels": {"a": "c"}}})
        yield Step("PATCH", f"{place}roles/{user}-0", {"metadata": {"finalizers": ["a.io/b"]}})
        yield Step("PATCH", f"{place}roles/{user}-0", {"metadata": {"finalizers": None}})
        for to in ("esc-reader", "esc-wide", "esc-missing"):
            yield Step("POST", f"{place}rolebindings", binding(f"{user}-{to}", "ClusterRole", to))
    yield Step("POST", f"{LOCAL}/rolebindings", binding(f"{user}-local", "Role", "esc-local"))
    yield Step("POST", f"{LOCAL}/rolebindings", binding(f"{user}-no", "Role", "esc-none"))
    yield Step("PATCH", f"{LOCAL}/rolebindings/{user}-esc-reader", {"subjects": []})
    yield Step("PATCH", f"{API}/clusterroles/esc-allowed", {"rules": [MORE]})
    yield Step("PATCH", f"{API}/clusterroles/esc-aggregated", {"metadata": {"labels": {"x": user}}})
    yield Step("POST", f"{API}/clusterroles", role(f"{user}-aggregated", aggregationRule=AGGREGATED))
    yield Step("POST", f"{API}/clusterroles", role(f"{user}-empty"))
