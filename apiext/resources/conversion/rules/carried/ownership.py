"""Managers of carried fields: what a webhook learns of the writes that it does not see.

kube-apiserver removes a field and sets it again in the storage version without a call of the webhook. But with a field, its managers in all
versions lose it (structured-merge-diff merge/update.go, Updater.update). So a carried field that had a manager, and has none any more,
has been removed since it was carried: the object or item that is at its place now is another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.conversion.rules.carried.entries import ABSENT, Entry, FieldEntry, Place, Step
from apiext.resources.conversion.rules.carried.schema_nodes import child, items_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.carried.annotation import Carried, Owned
    from apiext.schema.compiled import CompiledSchema
    from apiext.schema.model import Structural

_ITSELF: Final = "."
"""The element of a field set that stands for the value that has the others."""


class Managers:
    """The managers of the fields of an object."""

    def __init__(self, obj: Object) -> None:
        """Read metadata.managedFields; what is malformed has no manager."""
        self._group = obj["apiVersion"].rpartition("/")[0]
        entries = obj["metadata"].get("managedFields")
        self._sets: list[tuple[Any, Any]] = []
        for entry in entries if type(entries) is list else ():
            if type(entry) is dict and type(entry.get("fieldsV1")) is dict:
                self._sets.append((entry.get("apiVersion"), entry["fieldsV1"]))

    def __bool__(self) -> bool:
        """Return whether there are any: kube-apiserver converts objects without them, too, while it finds the managers of a write."""
        return bool(self._sets)

    def owned(self, carried: Carried) -> Owned:
        """Return the carried fields that have a manager of their version."""
        found = {version: tuple(self._owned(entries, version)) for version, entries in carried.items() if not isinstance(entries, str)}
        return {version: places for version, places in found.items() if places}

    def _owned(self, entries: Iterable[Entry], version: str) -> Iterator[Place]:
        sets = list(self._sets_of(version))
        for entry in entries if sets else ():
            if isinstance(entry, FieldEntry) and entry.value is not ABSENT and any(_has(fields, entry.place) for fields in sets):
                yield entry.place

    def _sets_of(self, version: str) -> Iterator[Any]:
        return (fields for api_version, fields in self._sets if api_version == f"{self._group}/{version}")

    def drop_removed(self, carried: Carried, owned: Owned, schemas: Mapping[str, CompiledSchema]) -> None:
        """Drop, in place, the entries of fields that have been removed since they were carried."""
        for version, places in owned.items():
            entries = carried.get(version, "")
            if isinstance(entries, str):
                continue
            gone = {place for place in places if self._is_removed(place, version, schemas[version].structural)}
            left = tuple(entry for entry in entries if not (isinstance(entry, FieldEntry) and entry.place in gone))
            carried[version] = left
            if not left:
                del carried[version]

    def _is_removed(self, place: Place, version: str, schema: Structural) -> bool:
        """Return whether a field that had a manager has been removed.

        It has been if there are managers of its version, none of which has it. Without any, they may have been removed by a client
        that reset managedFields: then only if someone has made what it was in.
        """
        if not _is_granular(schema, place) or any(_has(fields, place) for _, fields in self._sets):
            return False
        return any(self._sets_of(version)) or any(_makes_parent(fields, place) for _, fields in self._sets)


def _element(step: Step) -> str:
    return f"f:{step}" if isinstance(step, str) else f"k:{json_codec.dumps(dict(step)).decode()}"


def _below(fields: Any, step: Step) -> Any:
    return fields.get(_element(step)) if type(fields) is dict else None


def _has(fields: Any, place: Place) -> bool:
    """Return whether a field set has a field, or something in it."""
    for step in place:
        fields = _below(fields, step)
        if fields is None:
            return False
    return True


def _makes_parent(fields: Any, place: Place) -> bool:
    """Return whether a field set has an object, list or item that a field is in, and not only something in it."""
    for step in place[:-1]:
        fields = _below(fields, step)
        if type(fields) is not dict:
            return False
        if not fields or _ITSELF in fields:
            return True
    return False


def _is_granular(schema: Structural, place: Place) -> bool:
    """Return whether a field has managers of its own, and not those of a list or object that is replaced as a whole."""
    if place[0] == "metadata":
        return True
    for step in place:
        if isinstance(step, str):
            if schema.raw.get("x-kubernetes-map-type") == "atomic":
                return False
            schema = child(schema, step)
        else:
            if schema.list_type != "map" or {name for name, _ in step} != set(schema.list_map_keys):
                return False
            schema = items_of(schema)
    return True
