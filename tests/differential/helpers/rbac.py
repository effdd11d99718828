"""The RBAC rules of the access tests on the reference; apiext sends its reviews there."""

from typing import Any, Final

from hack.lib.differential.pair import Side, Step

GROUP: Final = "access.example.com"
TOKENS: Final = """\
ann-token,ann,1,"dev,ops"
bob-token,bob,2
carl-token,carl,4
root-token,root,3,"system:masters"
agent-token,system:serviceaccount:default:agent,5
"""
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_AUTHENTICATION: Final = "authentication.k8s.io"


def _rule(group: str, resource: str, *verbs: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)} | ({"resourceNames": list(names)} if names else {})


_ROLES: Final = {
    "readers": (
        [_rule(GROUP, "widgets", "get", "list", "watch", "create")],
        ["ann", "dave", "system:serviceaccount:default:x", "system:node:n1"],
    ),
    "legacy": (
        [
            _rule("", "users", "impersonate", names=("ann", "system:anonymous")),
            _rule("", "groups", "impersonate", names=("dev",)),
            _rule("", "serviceaccounts", "impersonate"),
            _rule(_AUTHENTICATION, "uids", "impersonate", names=("7",)),
            _rule(_AUTHENTICATION, "userextras/scopes", "impersonate", names=("view",)),
        ],
        ["bob"],
    ),
    "constrained": (
        [
            _rule(_AUTHENTICATION, "users", "impersonate:user-info", names=("ann", "dave")),
            _rule(_AUTHENTICATION, "groups", "impersonate:user-info", names=("dev",)),
            _rule(_AUTHENTICATION, "userextras", "impersonate:user-info"),
            _rule(_AUTHENTICATION, "serviceaccounts", "impersonate:serviceaccount", names=("x",)),
            _rule(_AUTHENTICATION, "nodes", "impersonate:arbitrary-node", names=("n1",)),
            _rule(GROUP, "widgets", *(f"impersonate-on:{mode}:get" for mode in ("user-info", "serviceaccount", "arbitrary-node"))),
        ],
        ["carl"],
    ),
}


def grant(reference: Side) -> None:
    """Create the roles and their bindings."""
    for name, (rules, users) in _ROLES.items():
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user} for user in users]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        made: dict[str, dict[str, Any]] = {"clusterroles": {"rules": rules}, "clusterrolebindings": {"roleRef": role, "subjects": subjects}}
        for plural, body in made.items():
            response, data = reference.raw(Step("POST", f"{_RBAC}/{plural}", {"metadata": {"name": name}} | body))
            assert response.status == 201, data
