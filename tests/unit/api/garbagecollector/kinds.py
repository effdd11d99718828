"""Two kinds, a namespaced and a cluster-scoped one, with objects that are written straight to the backend."""

from typing import Any, Final, cast

from apiext.api.garbagecollector.graph import KindPlace
from apiext.api.garbagecollector.served_objects import LatestObject, ServedObjects
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupResource
from apiext.storage.backend import Backend

ROOT: Final = "/registry/"
THINGS: Final = f"{ROOT}things/"
PLANS: Final = f"{ROOT}plans/"
EVENTS: Final = f"{ROOT}events/"
DELETED: Final = "2026-01-01T00:00:00Z"


class Kinds:
    """Implements served_objects.Kinds."""

    def __init__(self) -> None:
        self.places = {("v1", "Thing"): KindPlace(THINGS, namespaced=True), ("v1", "Plan"): KindPlace(PLANS, namespaced=False)}

    def locate(self, api_version: str, kind: str) -> KindPlace | None:
        """Implement Kinds.locate."""
        return self.places.get((api_version, kind))

    def scope_of(self, key: str) -> None:
        """Implement Kinds.scope_of: nothing is served here."""


def is_ignored(key: str) -> bool:
    """Report whether a key is that of an event."""
    return key.startswith(EVENTS)


def owner(uid: str, name: str = "", *, kind: str = "Thing", blocks: bool = False, version: str = "v1") -> dict[str, Any]:
    """Return an owner reference; the name is the uid if there is none."""
    return {"apiVersion": version, "kind": kind, "name": name or uid, "uid": uid, "blockOwnerDeletion": blocks}


def thing(uid: str, *owners: dict[str, Any], namespace: str = "a", deleting: bool = False, finalizers: tuple[str, ...] = ()) -> bytes:
    """Return the stored bytes of an object, whose name is its uid."""
    metadata: dict[str, Any] = {"name": uid, "uid": uid}
    if namespace:
        metadata["namespace"] = namespace
    if owners:
        metadata["ownerReferences"] = list(owners)
    if deleting:
        metadata["deletionTimestamp"] = DELETED
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return json_codec.dumps({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})


class Objects(ServedObjects):
    """Writes to the backend what the registry would."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(cast("Any", Kinds()), backend, cast("Any", None))
        self.backend = backend
        self.deleted: list[tuple[str, str]] = []
        """Names with propagation policies."""
        self.patches = 0
        self.conflicts = 0
        """Number of the next patches that fail."""

    async def patch(self, found: LatestObject, metadata: dict[str, Any]) -> None:
        """Implement ServedObjects.patch."""
        if self.conflicts:
            self.conflicts -= 1
            raise errors.conflict(GroupResource("", "things"), found.key, "it has changed")
        self.patches += 1
        changed = {member: value for member, value in {**found.metadata, **metadata}.items() if value is not None}
        if "deletionTimestamp" in changed and not changed.get("finalizers"):
            await self.backend.delete(found.key, expected=found.revision)
        else:
            await self.backend.update(found.key, json_codec.dumps({"metadata": changed}), expected=found.revision)

    async def delete(self, found: LatestObject, policy: str) -> None:
        """Implement ServedObjects.delete."""
        self.deleted.append((found.metadata["name"], policy))
        others = [name for name in found.finalizers if name not in {"foregroundDeletion", "orphan"}]
        wanted = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"]}.get(policy, [])
        finalizers = others + wanted
        if not finalizers:
            await self.backend.delete(found.key, expected=found.revision)
            return
        metadata = {**found.metadata, "finalizers": finalizers, "deletionTimestamp": DELETED}
        await self.backend.update(found.key, json_codec.dumps({"metadata": metadata}), expected=found.revision)
