"""What the users of apiext and of its operator may do in a cluster, as the manifests say."""

from typing import Any, Final

from hack.lib.manifests import built, rules

ADOPT: Final = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch", "patch"]}
"""Objects of the groups that are taken over: any, for tests have many."""


def server_rules() -> list[dict[str, Any]]:
    """Of the servers."""
    return [rule for _, rule in rules(built(), "apiext-server")]


def operator_rules() -> list[dict[str, Any]]:
    """Of the operator, everywhere; that those of a namespace suffice there is a test of its own."""
    return [*(rule for _, rule in rules(built(), "apiext-operator")), ADOPT]
