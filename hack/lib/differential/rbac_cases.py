"""Generated roles, bindings and access reviews."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hack.lib.differential.pair import Step

API: Final = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
GROUP: Final = "rbac.authorization.k8s.io"
NAMESPACES: Final = ("rbac-a", "rbac-b")
_USERS: Final = ("ann", "bob", "system:serviceaccount:rbac-a:bot", "system:serviceaccount:rbac-b:bot", "dev")
_GROUPS: Final = ("dev", "ops", "ann", "system:serviceaccounts", "system:serviceaccounts:rbac-a")
_VERBS: Final = ("get", "list", "create", "delete", "impersonate")
_API_GROUPS: Final = ("", "g.io", "apps")
_RESOURCES: Final = ("widgets", "gadgets", "pods")
_SUBRESOURCES: Final = ("", "", "status", "scale", "log")
_NAMES: Final = ("", "a", "b", "c")
_PATHS: Final = ("/custom", "/custom/x", "/custom/x/y", "/other", "/")


@dataclass(slots=True)
class RBACCases:
    """Makes objects and requests from a random source. Sparse rules leave some requests denied, and a few bindings without a role."""

    source: random.Random
    count: int

    def objects(self) -> Iterator[Step]:
        """Yield the creation of roles, then of bindings, `count` in all."""
        roles: dict[str, list[str]] = {place: [] for place in ("", *NAMESPACES)}
        for number in range(self.count // 2):
            namespace = self.source.choice(("", *NAMESPACES))
            rules = [self._rule(namespaced=bool(namespace)) for _ in range(self.source.randint(1, 3))]
            roles[namespace].append(f"rbac-{number}")
            yield _create("roles" if namespace else "clusterroles", namespace, f"rbac-{number}", rules=rules)
        for number in range(self.count - self.count // 2):
            namespace = self.source.choice(("", *NAMESPACES))
            kind = self.source.choice(("Role", "ClusterRole")) if namespace else "ClusterRole"
            name = self.source.choice([*roles[namespace if kind == "Role" else ""], "rbac-missing"])
            subjects = [self._subject() for _ in range(self.source.choice((1, 1, 2, 3)))]
            role = {"apiGroup": GROUP, "kind": kind, "name": name}
            plural = "rolebindings" if namespace else "clusterrolebindings"
            yield _create(plural, namespace, f"rbac-{number}", roleRef=role, subjects=subjects)

    def reviews(self) -> Iterator[Step]:
        """Yield `count` access reviews."""
        for _ in range(self.count):
            groups = self.source.sample(_GROUPS, self.source.choice((0, 0, 1, 2)))
            spec: dict[str, Any] = {"user": self.source.choice((*_USERS, "nobody")), "groups": groups}
            if self.source.random() < 0.2:
                spec["nonResourceAttributes"] = {"path": self.source.choice(_PATHS), "verb": self.source.choice(_VERBS)}
            else:
                spec["resourceAttributes"] = self._attributes()
            yield Step("POST", REVIEWS, {"spec": spec})

    def _attributes(self) -> dict[str, str]:
        pick = self.source.choice
        return {
            "verb": pick(_VERBS),
            "group": pick(_API_GROUPS),
            "resource": pick(_RESOURCES),
            "subresource": pick(_SUBRESOURCES),
            "name": pick(_NAMES),
            "namespace": pick(("", *NAMESPACES)),
        }

    def _rule(self, *, namespaced: bool) -> dict[str, Any]:
        pick = self.source.choice
        verbs = self.source.sample(_VERBS, pick((1, 1, 2))) if pick((True, True, True, False)) else ["*"]
        if not namespaced and self.source.random() < 0.3:
            return {"verbs": verbs, "nonResourceURLs": self.source.sample((*_PATHS[:4], "/custom/*", "/custom*", "/o*"), 1)}
        resource, subresource = pick((*_RESOURCES, "*")), pick(_SUBRESOURCES)
        resources = [f"{resource}/{subresource}" if subresource else resource]
        names = self.source.sample(_NAMES[1:], 2) if self.source.random() < 0.3 else []
        groups = ["*"] if self.source.random() < 0.1 else self.source.sample(_API_GROUPS, 1)
        return {"verbs": verbs, "apiGroups": groups, "resources": resources} | ({"resourceNames": names} if names else {})

    def _subject(self) -> dict[str, str]:
        kind = self.source.choice(("User", "Group", "ServiceAccount", "User"))
        if kind == "ServiceAccount":
            return {"kind": kind, "name": "bot", "namespace": self.source.choice(NAMESPACES)}
        return {"kind": kind, "apiGroup": GROUP, "name": self.source.choice(_USERS if kind == "User" else _GROUPS)}


def _create(plural: str, namespace: str, name: str, **members: Any) -> Step:
    where = f"{API}/namespaces/{namespace}/{plural}" if namespace else f"{API}/{plural}"
    return Step("POST", where, {"metadata": {"name": name}, **members})
