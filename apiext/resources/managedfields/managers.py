"""Managers of fields, and the entries of metadata.managedFields (apimachinery pkg/util/managedfields/internal/managedfields.go)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.golang import formatting
from apiext.resources.managedfields import field_set
from apiext.resources.managedfields.field_set import LEAF, FieldSet

APPLY: Final = "Apply"
UPDATE: Final = "Update"
_FIELDS_V1: Final = "FieldsV1"
_MAX_CACHED_BYTES: Final = 4 * 1024
"""Bytes of a set whose parsed form is cached. Parsed it takes about ten times as much: the cache has 10 MiB at most."""
_NEVER: Final = "1970-01-01T00:00:00Z"


class Manager(NamedTuple):
    """A writer of fields, and its operation: one entry of metadata.managedFields."""

    name: str
    operation: str
    version: str = ""
    """apiVersion of the writes; "" for Apply, since a manager has one entry for its applies in all versions."""
    subresource: str = ""

    @classmethod
    def of(cls, name: str, operation: str, version: str, subresource: str = "") -> Manager:
        """Return the manager for a write."""
        return cls(name, operation, "" if operation == APPLY else version, subresource)

    @property
    def identifier(self) -> str:
        """Return the reference's text for a manager, its sort key."""
        members = {"manager": self.name, "operation": self.operation, "apiVersion": self.version, "subresource": self.subresource}
        return json_codec.dumps({name: text for name, text in members.items() if text}, sort_keys=False).decode()


class VersionedSet(NamedTuple):
    """The fields of a manager."""

    fields: FieldSet
    version: str
    """apiVersion of the paths."""
    applied: bool

    def with_fields(self, fields: FieldSet) -> VersionedSet:
        """Return other fields of the same manager."""
        # several times faster than _replace
        return self if fields is self.fields else VersionedSet(fields, self.version, self.applied)


Managers = dict[Manager, VersionedSet]
"""The fields of each manager. Only the function that creates such a dict may change it."""
Times = dict[Manager, str]
"""Time of each manager's last change in RFC 3339; absent if unknown."""


def decode(entries: Iterable[Mapping[str, Any]]) -> tuple[Managers, Times]:
    """Read the entries of metadata.managedFields; the times are canonical (base/meta/objectmeta/canonical.py).

    Raises:
        ValueError: an entry is invalid.
    """
    managers: Managers = {}
    times: Times = {}
    for index, entry in enumerate(entries):
        operation, version = entry.get("operation") or "", entry.get("apiVersion") or ""
        if operation not in (APPLY, UPDATE):
            raise ValueError("operation must be `Apply` or `Update`")
        if not version:
            raise ValueError("apiVersion must not be empty")
        kind = entry.get("fieldsType")
        if kind != _FIELDS_V1:
            what = f"invalid fieldsType {formatting.quote(kind)}" if kind else "missing fieldsType"
            raise ValueError(f"{what} in managed fields entry {index}")
        manager = Manager.of(entry.get("manager") or "", operation, version, entry.get("subresource") or "")
        managers[manager] = VersionedSet(_fields(entry.get("fieldsV1")), version, operation == APPLY)
        if entry.get("time"):
            times[manager] = entry["time"]
        else:
            times.pop(manager, None)
    return managers, times


def _fields(fields: Any) -> FieldSet:
    # Objects of one kind, written in one way, have equal sets: they share the parsed ones.
    try:
        data = orjson.dumps(fields or LEAF)
    except orjson.JSONEncodeError:
        return field_set.parse(fields)
    return _cached_fields(data) if len(data) <= _MAX_CACHED_BYTES else field_set.parse(fields)


@lru_cache(maxsize=256)
def _cached_fields(data: bytes) -> FieldSet:
    return field_set.parse(orjson.loads(data))


def encode(managers: Managers, times: Times) -> list[Object]:
    """Return the ordered entries of metadata.managedFields. They share the field sets."""
    return sorted((_entry(manager, managed, times.get(manager)) for manager, managed in managers.items()), key=_rank)


def _entry(manager: Manager, managed: VersionedSet, time: str | None) -> Object:
    entry: Object = {"manager": manager.name} if manager.name else {}
    entry["operation"] = APPLY if managed.applied else manager.operation
    entry["apiVersion"] = managed.version
    if time:
        entry["time"] = time
    entry["fieldsType"], entry["fieldsV1"] = _FIELDS_V1, managed.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _rank(entry: Object) -> tuple[str, ...]:
    return entry["operation"], entry.get("time", _NEVER), entry.get("manager", ""), entry["apiVersion"], entry.get("subresource", "")
