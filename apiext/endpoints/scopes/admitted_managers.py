"""Checks managedFields after mutating admission (apiserver pkg/endpoints/handlers/fieldmanager/admission.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.managedfields import managers

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object

_INVALID: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; "
    "please fix your requests: "
)


def keep_valid_managers(obj: Object, before: Any, warnings: list[str]) -> None:
    """Give an admitted object the managedFields from before admission, and warn, if those that plug-ins have set are invalid.

    The object gets a new metadata; nothing else changes.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        # the reference reads no entries from other values, which are dropped when the object is written
        return
    try:
        managers.decode(entries)
    except ValueError as error:
        warnings.append(f"{_INVALID}{error}")
        kept = {name: member for name, member in metadata.items() if name != "managedFields"}
        obj["metadata"] = kept if before is None else {**kept, "managedFields": before}
