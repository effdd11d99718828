"""Times of managedFields in updates that change nothing else (apiserver pkg/endpoints/handlers/fieldmanager/equality.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.meta import json_values

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object


def keep_times(obj: Object, existing: Object) -> None:
    """Restore the existing managedFields of a new object if it differs from the existing one in nothing but their times, in place."""
    metadata, before = obj["metadata"], existing["metadata"]
    entries, known = metadata.get("managedFields"), before.get("managedFields")
    if not entries or not known or len(entries) != len(known) or _times(entries) == _times(known):
        return
    if _timeless(entries) == _timeless(known) and _without_managers(metadata) == _without_managers(before) and _same_rest(obj, existing):
        metadata["managedFields"] = known


def _times(entries: list[Object]) -> list[Any]:
    return [entry.get("time") for entry in entries]


def _timeless(entries: list[Object]) -> list[Object]:
    return [{name: member for name, member in entry.items() if name != "time"} for entry in entries]


def _without_managers(metadata: Object) -> Object:
    return {name: member for name, member in metadata.items() if name != "managedFields"}


def _same_rest(obj: Object, existing: Object) -> bool:
    return obj.keys() == existing.keys() and all(
        json_values.equal(member, existing[name]) for name, member in obj.items() if name != "metadata"
    )
