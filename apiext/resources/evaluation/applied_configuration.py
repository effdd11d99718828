"""The managers of an object's fields, and what they applied (structured-merge-diff typed: ExtractItems)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import unstructured
from apiext.base.meta.encoding import json_values
from apiext.resources.evaluation.compiled_version import STATUS, scale_paths
from apiext.resources.managedfields import managers
from apiext.resources.managedfields.field_set import ITSELF, from_paths, intersection
from apiext.resources.managedfields.managers import APPLY
from apiext.resources.registry.customresources.strategy import split_path

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.compiled_version import CompiledVersion
    from apiext.resources.managedfields.field_set import FieldSet
    from apiext.resources.managedfields.merge_types import ListType, MapType, MergeType
    from apiext.resources.registry.customresources.strategy import ScalePaths

SCALE: Final = "scale"
APPLIED: Final = ("", STATUS, SCALE)
"""The subresources of custom resources that clients apply."""


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
        """Return what it has applied, from an object as a read in the version gives it: a Scale if the subresource is scale.

        Raises:
            ValueError: the object does not fit the version's lists, or has no replicas.
        """
        if self.subresource != SCALE:
            return applied_configuration(version.merge_type, obj, self.fields)
        return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": _named(obj), "spec": {"replicas": replicas_of(version, obj)}}


def owners_of(obj: Object) -> list[FieldOwner]:
    """Return the managers of an object's fields.

    Raises:
        ValueError: managedFields are invalid.
    """
    found, _ = managers.decode((obj.get("metadata") or {}).get("managedFields") or ())
    return [FieldOwner(one.name, one.operation == APPLY, one.subresource, owned.version, owned.fields) for one, owned in found.items()]


def replicas_of(version: CompiledVersion, obj: Object) -> int:
    """Return the number of replicas in the spec of an object of a version.

    Raises:
        ValueError: the version has no scale, or the object no number of replicas.
    """
    paths = scale_paths(version.version)
    if paths is None:
        raise ValueError(f"{version.name} has no scale")
    found = unstructured.get_int(obj, split_path(paths.spec_replicas))
    if found is None:
        raise ValueError(f"{paths.spec_replicas} does not exist")
    return found


def scale_problem(version: CompiledVersion, obj: Object, scale: Object) -> str:
    """Return why an apply of a Scale to an object of a version fails, "" if it passes.

    The reference converts no Scale of a custom resource: an apply passes if it changes nothing, and any manager owns the replicas.
    """
    try:
        if replicas_of(version, obj) != scale["spec"]["replicas"]:
            return "the scale has another number of replicas"
        paths = {f"{version.definition.group}/{one.name}": scale_paths(one) for one in version.definition.versions}
        is_owned = any(_owns_replicas(owner, paths.get(owner.api_version)) for owner in owners_of(obj))
    except ValueError as error:
        return str(error)
    return "" if is_owned else "no manager owns the replicas"


def _owns_replicas(owner: FieldOwner, paths: ScalePaths | None) -> bool:
    if paths is None:
        return False
    return bool(intersection(owner.fields, from_paths(tuple(f"f:{name}" for name in split_path(paths.spec_replicas)))))


def applied_configuration(merge_type: MergeType, obj: Object, fields: FieldSet) -> Object:
    """Return the fields of a manager's set with the object's values. Items of list maps have their keys.

    Fields that the object does not have are left out. So is what has its default, unless the set has it: a key of an item, and any field
    below a value that has one owner, of whose parts the set does not tell.
    """
    found = _extracted(merge_type, obj, {ITSELF: {}, **fields})
    config: Object = found if type(found) is dict else {}
    return config | {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": (config.get("metadata") or {}) | _named(obj)}


def _named(obj: Object) -> Object:
    metadata = obj.get("metadata") or {}
    return {name: metadata[name] for name in ("name", "namespace") if name in metadata}


def _extracted(merge_type: MergeType, value: Any, fields: FieldSet) -> Any:
    """Return the part of a value that belongs to a set of fields below it."""
    if type(value) is dict and merge_type.map is not None and not merge_type.map.atomic:
        return _from_map(merge_type.map, value, fields)
    if type(value) is list and merge_type.list is not None and merge_type.list.associative:
        return _from_list(merge_type.list, value, fields)
    return _without_defaults(merge_type, value)


def _without_defaults(merge_type: MergeType, value: Any) -> Any:
    """Return a value without the fields below it that have their default."""
    if type(value) is list and merge_type.list is not None:
        return [_without_defaults(merge_type.list.element, item) for item in value]
    if type(value) is not dict or merge_type.map is None:
        return value
    parts = {name: (merge_type.map.field(name)[1], item) for name, item in value.items()}
    return {name: _without_defaults(below, item) for name, (below, item) in parts.items() if not _is_default(below, item)}


def _is_default(merge_type: MergeType, value: Any) -> bool:
    """Return whether a value is the default of its field, whose own fields may have defaults, too."""
    if merge_type.default is None:
        return False
    one, other = (_without_defaults(merge_type, each) for each in (value, merge_type.default))
    return json_values.equal(one, other)


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
            types = list_type.element.map.fields if list_type.element.map is not None else {}
            keys = [name for name in list_type.keys if name in item and not (name in types and _is_default(types[name][1], item[name]))]
            part |= {name: item[name] for name in keys}
        found.append(part)
    return found
