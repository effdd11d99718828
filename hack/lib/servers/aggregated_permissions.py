"""The rules of apiext and its operator in a cluster, from the manifests."""

from typing import Any, Final

from hack.lib.manifests import built, rules

ADOPT: Final = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch", "patch"]}
"""Rule for the objects of adopted groups: all groups, since the tests use many."""


def server_rules() -> list[dict[str, Any]]:
    """Return the rules of the servers."""
    return [rule for _, rule in rules(built(), "apiext-server")]


def operator_rules() -> list[dict[str, Any]]:
    """Return the rules of the operator, all for the whole cluster; another test proves that namespaced ones suffice."""
    return [*(rule for _, rule in rules(built(), "apiext-operator")), ADOPT]
