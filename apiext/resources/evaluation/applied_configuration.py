"""The managers of an object's fields, and what they applied (structured-merge-diff typed: ExtractItems)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.resources.managedfields import managers
from apiext.resources.managedfields.field_set import ITSELF
from apiext.resources.managedfields.managers import APPLY

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.compiled_version import CompiledVersion
    from apiext.resources.managedfields.field_set import FieldSet
    from apiext.resources.managedfields.merge_types import ListType, MapType, MergeType


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """A manager of fields of an object."""

    name: str
    is_applier: bool
    """Whether it owns the fields by server-side apply."""
    subresource: str
    api_version: str
    """The version whose fields it owns."""
    fields: FieldSet

    def configuration(self, version: CompiledVersion, obj: Object) -> Object:
        """Return what it has applied, from an object as a read in the version gives it.

        Raises:
            ValueError: the object does not fit the version's lists.
        """
        return applied_configuration(version.merge_type, obj, self.fields)


def owners_of(obj: Object) -> list[FieldOwner]:
    """Return the managers of an object's fields.

    Raises:
        ValueError: managedFields are invalid.
    """
    found, _ = managers.decode((obj.get("metadata") or {}).get("managedFields") or ())
    return [FieldOwner(one.name, one.operation == APPLY, one.subresource, owned.version, owned.fields) for one, owned in found.items()]


def applied_configuration(merge_type: MergeType, obj: Object, fields: FieldSet) -> Object:
    """Return the fields of a manager's set with the object's values. Items of list maps have their keys.

    Fields that the object does not have are left out.
    """
    found = _extracted(merge_type, obj, {ITSELF: {}, **fields})
    config: Object = found if type(found) is dict else {}
    metadata = obj.get("metadata") or {}
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    return config | {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": (config.get("metadata") or {}) | named}


def _extracted(merge_type: MergeType, value: Any, fields: FieldSet) -> Any:
    """Return the part of a value that belongs to a set of fields below it."""
    if type(value) is dict and merge_type.map is not None and not merge_type.map.atomic:
        return _from_map(merge_type.map, value, fields)
    if type(value) is list and merge_type.list is not None and merge_type.list.associative:
        return _from_list(merge_type.list, value, fields)
    return value


def _from_map(map_type: MapType, value: dict[str, Any], fields: FieldSet) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, item in value.items():
        element, below = map_type.field(name)
        owned = fields.get(element)
        if owned is not None:
            found[name] = _extracted(below, item, owned)
    return found


def _from_list(list_type: ListType, value: list[Any], fields: FieldSet) -> list[Any]:
    found: list[Any] = []
    for item in value:
        owned = fields.get(list_type.element_of(item))
        if owned is None:
            continue
        part = _extracted(list_type.element, item, owned)
        if type(part) is dict:
            part |= {name: item[name] for name in list_type.keys if name in item}
        found.append(part)
    return found
