"""The condition UnusedStoredVersions: entries of status.storedVersions without objects. Only this server sets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.resources.definitions import conditions
from apiext.resources.definitions.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.base.meta.encoding.json_codec import Object

UNUSED_STORED_VERSIONS: Final = "UnusedStoredVersions"
_BEGIN: Final = "no object is stored in "


def report(crd: Object, unused: Collection[str]) -> None:
    """List unused entries of storedVersions in the definition's condition. Remove the condition if there are none."""
    storage = storage_version(crd["spec"])
    names = [name for name in crd["status"]["storedVersions"] or () if name in unused and name != storage]
    if names:
        message = f"{_BEGIN}{', '.join(names)}: the entries can be removed from status.storedVersions"
        conditions.put(crd, Condition(UNUSED_STORED_VERSIONS, "True", "NoObjectsStored", message))
    else:
        conditions.remove(crd, UNUSED_STORED_VERSIONS)


def reported(crd: Object) -> frozenset[str]:
    """Return the entries that the definition's condition lists."""
    condition = conditions.find(crd, UNUSED_STORED_VERSIONS)
    names = str((condition or {}).get("message", "")).removeprefix(_BEGIN).partition(":")[0]
    return frozenset(names.split(", ")) if names else frozenset()


def retain(crd: Object, old: Object) -> None:
    """Keep the old condition in an updated definition, unless its stored versions or its storage version have changed."""
    before = conditions.find(old, UNUSED_STORED_VERSIONS)
    outdated = crd["status"]["storedVersions"] != old["status"]["storedVersions"] or storage_version(crd["spec"]) != storage_version(
        old["spec"]
    )
    kept = None if outdated else before
    if conditions.find(crd, UNUSED_STORED_VERSIONS) == kept:
        return
    conditions.remove(crd, UNUSED_STORED_VERSIONS)
    if kept is not None:
        crd["status"] = crd["status"] | {"conditions": [*(crd["status"]["conditions"] or ()), kept]}


def storage_version(spec: Object) -> str | None:
    """Return the name of the storage version in a definition's spec, None if it has none."""
    return next((version["name"] for version in spec["versions"] or () if version["storage"]), None)
