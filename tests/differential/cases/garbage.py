"""Scenarios of garbage collection: objects, what is done with them, and which of them remain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.builders.crds import crd, version

GROUP: Final = "garbage.example.com"
HOLD: Final = "example.com/hold"
API_VERSIONS: Final = {
    "cm": ("v1", "ConfigMap"),
    "secret": ("v1", "Secret"),
    "widget": (f"{GROUP}/v1", "Widget"),
    "old": (f"{GROUP}/v1beta1", "Widget"),
    "plan": (f"{GROUP}/v1", "Plan"),
    "set": ("apps/v1", "ReplicaSet"),
    "ns": ("v1", "Namespace"),
    "none": ("nowhere.example.com/v1", "Nothing"),
    "unserved": (f"{GROUP}/v7", "Widget"),
}
"""By the first part of an object's name here."""
CLUSTER: Final = frozenset({"plan", "ns"})
_PATHS: Final = {
    "cm": "/api/v1/namespaces/{0}/configmaps",
    "secret": "/api/v1/namespaces/{0}/secrets",
    "widget": f"/apis/{GROUP}/v1/namespaces/{{0}}/widgets",
    "plan": f"/apis/{GROUP}/v1/plans",
    "set": "/apis/apps/v1/namespaces/{0}/replicasets",
    "ns": "/api/v1/namespaces",
}
_TEMPLATE: Final = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_BODIES: Final[dict[str, Any]] = {"set": {"spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}}}


def definitions() -> list[dict[str, Any]]:
    """Return the definitions of the custom resources."""
    return [
        crd("widgets", version("v1", storage=True), version("v1beta1"), group=GROUP),
        crd("plans", kind="Plan", group=GROUP, scope="Cluster"),
    ]


def path(name: str, namespace: str) -> str:
    """Return the path of an object; the names of cluster-scoped ones have the namespace as prefix."""
    kind, _, short = name.partition("/")
    return f"{_PATHS[kind].format(namespace)}/{full_name(kind, short, namespace)}"


def full_name(kind: str, short: str, namespace: str) -> str:
    """Return the name of an object on the server."""
    return f"{namespace}-{short}" if kind in CLUSTER else short


@dataclass(frozen=True, slots=True)
class Own:
    """An owner reference to the object `of`. Other members replace what belongs to it."""

    of: str
    blocks: bool | None = None
    uid: str = ""
    name: str = ""
    kind: str = ""
    """First part of a name, for its apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object with owners."""

    name: str
    owners: Sequence[Own] = ()
    finalizers: Sequence[str] = ()
    beside: bool = False
    """Whether it is in another namespace than the scenario."""

    def body(self, namespace: str, references: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the object to create."""
        kind, _, short = self.name.partition("/")
        api_version, name = API_VERSIONS[kind]
        metadata = {"name": full_name(kind, short, namespace), "ownerReferences": references, "finalizers": list(self.finalizers)}
        return {"apiVersion": api_version, "kind": name, "metadata": metadata, **_BODIES.get(kind, {})}


@dataclass(frozen=True, slots=True)
class Delete:
    """A deletion with a propagation policy."""

    name: str
    policy: str = "Background"


@dataclass(frozen=True, slots=True)
class Change:
    """A merge patch of the metadata. Owners replace the references."""

    name: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    owners: Sequence[Own] | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait until objects are gone (False), remain (True), or remain with a deletionTimestamp (None)."""

    ends: Mapping[str, bool | None]


FREE: Final = {"finalizers": None}
Act = Thing | Delete | Change | Wait


def _both(*, blocks: bool | None = None) -> list[Act]:
    return [Thing("cm/a"), Thing("widget/b", [Own("cm/a", blocks)]), Thing("secret/c", [Own("widget/b", blocks)])]


def _gone(*names: str) -> Wait:
    return Wait(dict.fromkeys(names, False))


SCENARIOS: Final[dict[str, list[Act]]] = {
    "background": [*_both(), Delete("cm/a"), _gone("cm/a", "widget/b", "secret/c")],
    "foreground": [*_both(blocks=True), Delete("cm/a", "Foreground"), _gone("cm/a", "widget/b", "secret/c")],
    "foreground without blocking": [*_both(), Delete("cm/a", "Foreground"), _gone("cm/a", "widget/b", "secret/c")],
    "foreground without dependents": [Thing("widget/a"), Delete("widget/a", "Foreground"), _gone("widget/a")],
    "orphan": [*_both(blocks=True), Delete("cm/a", "Orphan"), Wait({"cm/a": False, "widget/b": True, "secret/c": True})],
    "orphan without dependents": [Thing("plan/a"), Delete("plan/a", "Orphan"), _gone("plan/a")],
    "orphan of built-in kinds": [
        Thing("set/a"),
        Thing("cm/b", [Own("set/a", True)]),
        Thing("plan/c"),
        Thing("cm/d", [Own("plan/c"), Own("set/a")]),
        Delete("set/a", "Orphan"),
        Wait({"set/a": False, "cm/b": True, "cm/d": True}),
    ],
    "foreground held by a dependent": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a", True)], [HOLD]),
        Delete("cm/a", "Foreground"),
        Wait({"cm/a": None, "widget/b": None}),
        Change("widget/b", FREE),
        _gone("cm/a", "widget/b"),
    ],
    "foreground not held": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a")], [HOLD]),
        Delete("cm/a", "Foreground"),
        Wait({"cm/a": False, "widget/b": None}),
    ],
    "foreground released": [
        Thing("widget/a"),
        Thing("cm/b", [Own("widget/a", True)], [HOLD]),
        Delete("widget/a", "Foreground"),
        Wait({"widget/a": None, "cm/b": None}),
        Change("cm/b", owners=[Own("widget/a", False)]),
        Wait({"widget/a": False, "cm/b": None}),
    ],
    "foreground beside another owner": [
        Thing("cm/a"),
        Thing("cm/b"),
        Thing("widget/c", [Own("cm/a", True), Own("cm/b", True)]),
        Thing("secret/d", [Own("cm/a", True), Own("cm/b", True)]),
        Delete("cm/a", "Foreground"),
        Wait({"cm/a": False, "cm/b": True, "widget/c": True, "secret/d": True}),
    ],
    "background beside another owner": [
        Thing("cm/a"),
        Thing("cm/b"),
        Thing("widget/c", [Own("cm/a", True), Own("cm/b")]),
        Thing("set/d", [Own("cm/a"), Own("cm/b")]),
        Delete("cm/a"),
        Wait({"cm/a": False, "cm/b": True, "widget/c": True, "set/d": True}),
    ],
    "both owners": [
        Thing("cm/a"),
        Thing("cm/b"),
        Thing("widget/c", [Own("cm/a"), Own("cm/b")]),
        Delete("cm/a"),
        Delete("cm/b", "Foreground"),
        _gone("cm/a", "cm/b", "widget/c"),
    ],
    "terminating owner": [
        Thing("cm/a", finalizers=[HOLD]),
        Thing("widget/b", [Own("cm/a", True)]),
        Delete("cm/a"),
        Wait({"cm/a": None, "widget/b": True}),
        Change("cm/a", FREE),
        _gone("cm/a", "widget/b"),
    ],
    "unknown owner": [Thing("cm/b", [Own("cm/a", uid="unknown")]), _gone("cm/b")],
    "other uid": [Thing("cm/a"), Thing("widget/b", [Own("cm/a", uid="other")]), Wait({"cm/a": True, "widget/b": False})],
    "other name": [Thing("cm/a"), Thing("widget/b", [Own("cm/a", name="other")]), Wait({"cm/a": True, "widget/b": False})],
    "other kind": [Thing("cm/a"), Thing("widget/b", [Own("cm/a", kind="secret")]), Wait({"cm/a": True, "widget/b": False})],
    "unknown beside a real one": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a"), Own("cm/x", uid="unknown")]),
        Wait({"cm/a": True, "widget/b": True}),
        Delete("cm/a"),
        _gone("cm/a", "widget/b"),
    ],
    "unserved kind": [Thing("cm/b", [Own("none/a", uid="unknown")]), Wait({"cm/b": True})],
    "unserved version": [
        Thing("widget/a"),
        Thing("cm/b", [Own("widget/a", kind="unserved")]),
        Delete("widget/a"),
        Wait({"widget/a": False, "cm/b": True}),
    ],
    "unserved version of an unknown one": [Thing("cm/b", [Own("widget/a", uid="unknown", kind="unserved")]), Wait({"cm/b": True})],
    "another version": [
        Thing("widget/a"),
        Thing("cm/b", [Own("widget/a", True, kind="old")]),
        Wait({"cm/b": True}),
        Delete("widget/a", "Foreground"),
        _gone("widget/a", "cm/b"),
    ],
    "owner in another namespace": [Thing("cm/a"), Thing("widget/b", [Own("cm/a")], beside=True), Wait({"cm/a": True, "widget/b": False})],
    "cluster-scoped owner": [
        Thing("plan/a"),
        Thing("widget/b", [Own("plan/a", True)]),
        Thing("plan/c", [Own("plan/a", True)]),
        Delete("plan/a", "Foreground"),
        _gone("plan/a", "widget/b", "plan/c"),
    ],
    "namespaced owner of a cluster-scoped object": [
        Thing("cm/a"),
        Thing("plan/b", [Own("cm/a", True)]),
        Wait({"plan/b": True}),
        Delete("cm/a"),
        Wait({"cm/a": False}),
    ],
    "namespace as owner": [Thing("ns/a"), Thing("plan/b", [Own("ns/a")]), Delete("ns/a"), _gone("ns/a", "plan/b")],
    "namespace as dependent": [
        Thing("plan/a"),
        Thing("ns/b", [Own("plan/a", True)]),
        Delete("plan/a", "Foreground"),
        _gone("plan/a", "ns/b"),
    ],
    "circle": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a", True)]),
        Change("cm/a", owners=[Own("widget/b", True)]),
        Delete("cm/a", "Foreground"),
        _gone("cm/a", "widget/b"),
    ],
    "circle in background": [
        Thing("cm/a"),
        Thing("cm/b", [Own("cm/a", True)]),
        Change("cm/a", owners=[Own("cm/b", True)]),
        Delete("cm/a"),
        _gone("cm/a", "cm/b"),
    ],
    "its own owner": [
        Thing("widget/a"),
        Change("widget/a", owners=[Own("widget/a", True)]),
        Delete("widget/a", "Foreground"),
        Wait({"widget/a": None}),
    ],
    "dependent that orphans": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a")], ["orphan"]),
        Thing("secret/c", [Own("widget/b")]),
        Delete("cm/a"),
        Wait({"cm/a": False, "widget/b": False, "secret/c": True}),
    ],
    "dependent that waits": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a")], ["foregroundDeletion"]),
        Thing("secret/c", [Own("widget/b", True)]),
        Delete("cm/a"),
        _gone("cm/a", "widget/b", "secret/c"),
    ],
    "adopted": [
        Thing("cm/a"),
        Thing("cm/b"),
        Change("cm/b", owners=[Own("cm/a")]),
        Delete("cm/a"),
        _gone("cm/a", "cm/b"),
    ],
    "released": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a")]),
        Change("widget/b", {"ownerReferences": None}),
        Delete("cm/a"),
        Wait({"cm/a": False, "widget/b": True}),
    ],
    "owner deleted and created again": [
        Thing("cm/a"),
        Thing("widget/b", [Own("cm/a")], [HOLD]),
        Delete("cm/a"),
        Wait({"cm/a": False, "widget/b": None}),
        Thing("cm/a"),
        Change("widget/b", FREE),
        Wait({"cm/a": True, "widget/b": False}),
    ],
}
