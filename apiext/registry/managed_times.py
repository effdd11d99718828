"""Times of managedFields in updates that change nothing else (apiserver pkg/endpoints/handlers/fieldmanager/equality.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.meta.encoding import json_values

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object


def keep_times(obj: Object, existing: Object) -> None:
    """Restore the existing managedFields, in place, if a new object differs from the existing one only in their times."""
    metadata, before = obj["metadata"], existing["metadata"]
    entries, known = metadata.get("managedFields"), before.get("managedFields")
    # most updates change the generation, which is fast to compare
    if not entries or not known or len(entries) != len(known) or metadata.get("generation") != before.get("generation"):
        return
    # comparing times first finds most changes of content soonest
    if _times(entries) == _times(known) or not _same_rest(obj, existing):
        return
    same_entries = [_without("time", entry) for entry in entries] == [_without("time", entry) for entry in known]
    if same_entries and _without("managedFields", metadata) == _without("managedFields", before):
        metadata["managedFields"] = known


def _times(entries: list[Object]) -> list[Any]:
    return [entry.get("time") for entry in entries]


def _without(left_out: str, obj: Object) -> Object:
    return {name: member for name, member in obj.items() if name != left_out}


def _same_rest(obj: Object, existing: Object) -> bool:
    return obj.keys() == existing.keys() and all(
        json_values.equal(member, existing[name]) for name, member in obj.items() if name != "metadata"
    )
