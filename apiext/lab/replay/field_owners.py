"""Compares who owns the fields of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.lab.replay.server_client import MANAGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.meta.encoding.json_codec import Object

_Owner = tuple[str, str, str]


def lost_owners(before: Object, after: Object) -> Iterator[tuple[str, str]]:
    """Yield the managers that have lost fields, with the general path of each field; "" if a manager has lost all.

    The replay's own updates do not count.
    """
    earlier, later = before["metadata"].get("managedFields") or (), after["metadata"].get("managedFields") or ()
    if earlier == later:
        return
    owned, kept = _fields(earlier), _fields(later)
    for owner, fields in owned.items():
        if owner not in kept:
            yield owner[0], ""
        else:
            yield from ((owner[0], path) for path in dict.fromkeys(_lost(fields, kept[owner], "")))


def _fields(entries: Any) -> dict[_Owner, dict[str, Any]]:
    """Return the fields of each manager, those of several versions together."""
    found: dict[_Owner, dict[str, Any]] = {}
    for entry in entries:
        if entry.get("manager") == MANAGER:
            continue
        owner = entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", "")
        found[owner] = _union(found.get(owner, {}), entry.get("fieldsV1") or {})
    return found


def _union(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **{name: _union(one.get(name, {}), below) for name, below in other.items()}}


def _lost(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, below in before.items():
        here = _below(path, name)
        if name not in after:
            yield here
        else:
            yield from _lost(below, after[name], here)


def _below(path: str, name: str) -> str:
    """Return the general path of an element of a field set: f:NAME is a member, `.` the value itself, all others are items."""
    if name == ".":
        return path
    if not name.startswith("f:"):
        return f"{path}[]"
    return f"{path}.{name[2:]}" if path else name[2:]
