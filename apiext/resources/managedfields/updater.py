"""Computes the owners of fields after a write (structured-merge-diff merge/update.go).

Conflicts: apimachinery pkg/util/managedfields/internal/conflict.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.base.meta.golang import formatting
from apiext.resources.managedfields import field_set
from apiext.resources.managedfields.comparison import Comparison, additions, compare, leaves, same
from apiext.resources.managedfields.element import text
from apiext.resources.managedfields.field_set import ITSELF, LEAF, FieldSet, is_member
from apiext.resources.managedfields.managers import UPDATE, Manager, Managers, VersionedSet
from apiext.resources.managedfields.merge_types import ItemError, ListType, MapType, MergeType
from apiext.resources.managedfields.merging import merge
from apiext.resources.managedfields.validation import InvalidValueError, check

_PRUNE: Final = "to prune fields"
_OWNED: Final = _PRUNE + ": failed add back owned items"
_UNOWNED: Final = _PRUNE + ": failed add back dangling items"


class ApplyConflictError(Exception):
    """An apply would change fields of other managers."""

    def __init__(self, conflicts: Mapping[Manager, FieldSet]) -> None:
        super().__init__("conflicts")
        self.fields = conflicts
        self.conflicts = {
            manager: ["".join(map(text, path)) for path in field_set.paths(conflicts[manager])]
            for manager in sorted(conflicts, key=lambda manager: manager.identifier)
        }
        """Paths by manager, both in the order of messages."""

    def status(self) -> StatusError:
        """Return the answer to the request: 409 with one cause for each manager and field."""
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {_printed(manager)}", "field": path}
            for manager, paths in self.conflicts.items()
            for path in paths
        ]
        return StatusError(409, "Conflict", self._message(len(causes)), {"causes": causes})

    def _message(self, count: int) -> str:
        if count == 1:
            ((manager, (path,)),) = self.conflicts.items()
            return f"Apply failed with 1 conflict: conflict with {_printed(manager)}: {path}"
        lines = []
        for manager, paths in self.conflicts.items():
            lines += [f"conflicts with {_printed(manager)}:", *(f"- {path}" for path in paths)]
        text = "\n".join(lines)
        return f"Apply failed with {count} conflicts: {text}"


def _printed(manager: Manager) -> str:
    text = formatting.quote(manager.name)
    if manager.subresource:
        text += f" with subresource {formatting.quote(manager.subresource)}"
    return f"{text} using {manager.version}" if manager.operation == UPDATE else text


def remove(merge_type: MergeType, value: Any, fields: FieldSet) -> Any:
    """Return a valid value without some fields and items, None if nothing is left."""
    kind = merge_type.kind(value)
    if kind is dict and merge_type.map is not None:
        return _remove_from_map(merge_type.map, value, fields)
    return _remove_from_list(merge_type.list, value, fields) if kind is list and merge_type.list is not None else value


def _remove_from_map(map_type: MapType, value: Any, fields: FieldSet) -> Any:
    if map_type.atomic or type(value) is not dict:
        return None
    result: dict[str, Any] = {}
    for name, item in value.items():
        element, below = map_type.field(name)
        removed = fields.get(element)
        if removed is None:
            result[name] = item
        elif not is_member(removed):
            result[name] = remove(below, item, removed)
    return result or None


def _remove_from_list(list_type: ListType, value: Any, fields: FieldSet) -> Any:
    if not list_type.associative or type(value) is not list:
        return None
    result = []
    for item in value:
        removed = fields.get(list_type.element_of(item))
        if removed is None:
            result.append(item)
        elif not is_member(removed):
            result.append(remove(list_type.element, item, removed))
    return result or None


def with_named_fields(merge_type: MergeType, fields: FieldSet) -> FieldSet:
    """Return a set in which each declared field with members below is a member too."""
    if merge_type.map is None and merge_type.list is None:
        return fields
    result: FieldSet = {}
    for element, below in fields.items():
        declared = None
        if below:
            declared, below_type = _type_below(merge_type, element)
            members = with_named_fields(below_type, below) if below_type is not None else below
            result[element] = {ITSELF: LEAF, **members} if declared else members
        else:
            result[element] = below
    return result


def _type_below(merge_type: MergeType, element: str) -> tuple[bool, MergeType | None]:
    """Return whether a path element is a declared field, and the type there, None if unknown."""
    if element.startswith("f:") and merge_type.map is not None:
        field = merge_type.map.fields.get(element[2:])
        return (False, merge_type.map.element) if field is None else (True, field[1])
    return False, merge_type.list.element if element.startswith("k:") and merge_type.list is not None else None


def reconcile(merge_type: MergeType, fields: FieldSet) -> FieldSet:
    """Return a set adjusted to a changed schema: of a value that now has a single owner, only its path is left."""
    map_type, list_type = merge_type.map, merge_type.list
    types: dict[str, MergeType] = {}
    if map_type is not None:
        if map_type.is_deduced:
            return fields
        if map_type.atomic:
            return LEAF
        types, other = map_type.types, map_type.element
    elif merge_type.scalar or list_type is None:
        return fields
    elif not list_type.associative:
        return LEAF
    else:
        other = list_type.element
    result = fields
    for element, below in fields.items():
        if below and (below_type := types.get(element, other)) is not None and (reconciled := reconcile(below_type, below)) is not below:
            result = result.copy() if result is fields else result
            result[element] = reconciled
    return result


@dataclass(slots=True)
class TypedValue:
    """An object in one version, valid by the version's merge type (validation.check). It never changes."""

    value: Any
    merge_type: MergeType
    version: str
    """apiVersion, with the group."""
    converted: dict[str, TypedValue] = field(default_factory=dict, compare=False, repr=False)
    """The object in other versions, as converted so far: one call of a webhook serves all managers of a version."""

    def with_value(self, value: Any) -> TypedValue:
        """Return another object of the same version."""
        return TypedValue(value, self.merge_type, self.version)


class MissingVersionError(Exception):
    """The version of a manager is no longer served."""


class VersionConverter(Protocol):
    """Converts objects between the versions of a resource."""

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """Return the object in another version, checked without duplicate items.

        Raises:
            MissingVersionError: the resource has no such version.
        """


@dataclass(frozen=True, slots=True)
class Updater:
    """Computes the managers after a write. Never changes its arguments.

    Texts of errors begin with the step that failed, as in the reference. The sets include fields of metadata without an owner
    (apiVersion, kind, name, ...); the caller removes them.
    """

    converter: VersionConverter
    reset_fields: Mapping[str, FieldSet] = field(default_factory=dict)
    """Fields that the strategy resets, by apiVersion: they have no manager."""

    def created(self, empty: dict[str, Any], new: TypedValue) -> FieldSet | None:
        """Return a creator's fields as `update` finds them, None if this takes a comparison with the empty object."""
        fields = additions(new.merge_type, empty, new.value)
        return None if fields is None else field_set.recursive_difference(fields, self._reset(new.version))

    async def update(self, live: TypedValue, new: TypedValue, managers: Managers, manager: Manager) -> Managers:
        """Return the managers after a create, update or patch.

        `live` has the same version as `new`, and for a create no fields. Both may have duplicate items.

        Raises:
            ValueError: an object cannot be converted to the version of a manager, or is invalid in it.
        """
        result, changed = await self._change(live, new, await self._reconciled(live, managers), manager, force=True)
        before = result.get(manager)
        if before is None:
            fields = field_set.union(changed.modified, changed.added)
        else:
            fields = field_set.difference(before.fields, changed.removed)
            fields = field_set.union(field_set.union(fields, changed.modified), changed.added)
            fields = field_set.recursive_difference(fields, self._reset(new.version))
        if fields:
            result[manager] = VersionedSet(fields, new.version, applied=False)
        else:
            result.pop(manager, None)
        return result

    async def apply(
        self, live: TypedValue, config: TypedValue, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[TypedValue | None, Managers]:
        """Return the object and the managers after an apply, None for an unchanged object.

        `config` has no duplicate items. The result has all fields of `config`. It loses fields of the manager's earlier apply, unless
        others own them. With `force`, the manager becomes the only owner of fields whose values it changes.

        Raises:
            ApplyConflictError: other managers own fields that the apply changes.
            ValueError: an object cannot be converted to the version of a manager, or is invalid in it.
        """
        result = await self._reconciled(live, managers)
        merged = live.with_value(merge(live.merge_type, live.value, config.value))
        last = result.get(manager)
        fields = field_set.recursive_difference(leaves(config.merge_type, config.value), self._reset(config.version))
        result[manager] = VersionedSet(fields, config.version, applied=True)
        if last is None or not last.fields:
            result, _ = await self._change(live, merged, result, manager, force=force)
        elif _applies_all(config, fields, last):
            try:
                result, _ = await self._change(live, merged, result, manager, force=force)
            except ValueError:
                # the reference finds an object without a conversion while it prunes
                await self._prune(merged, result, manager, last)
                raise
        else:
            merged = await self._prune(merged, result, manager, last)
            result, _ = await self._change(live, merged, result, manager, force=force)
        return None if same(live.value, merged.value) else merged, result

    def _reset(self, version: str) -> FieldSet:
        return self.reset_fields.get(version, LEAF)

    async def _reconciled(self, live: TypedValue, managers: Managers) -> Managers:
        """Adjust the managers' sets to the current schema. Drop managers of versions that are gone."""
        result: Managers = {}
        for manager, managed in managers.items():
            merge_type = live.merge_type
            if managed.version != live.version:
                try:
                    merge_type = (await self._convert(live, managed.version)).merge_type
                except MissingVersionError:
                    continue
            fields = reconcile(merge_type, managed.fields)
            result[manager] = managed.with_fields(fields)
        return result

    async def _convert(self, value: TypedValue, version: str, step: str = "") -> TypedValue:
        """Return an object in another version. Errors begin with the step."""
        if value.version == version:
            return value
        converted = value.converted.get(version)
        if converted is None:
            try:
                converted = value.converted[version] = await self.converter.convert(value, version)
            except ValueError as error:
                if not step:
                    raise
                raise ValueError(f"failed {step}: {error}") from error
        return converted

    async def _change(
        self, old: TypedValue, new: TypedValue, managers: Managers, writer: Manager, *, force: bool
    ) -> tuple[Managers, Comparison]:
        """Take the fields that a write changes from their managers. Return the managers, and the changes in the writer's version."""
        own = _compared(old, new).without(self._reset(new.version))
        changes = {new.version: (field_set.union(own.modified, own.added), own.removed)}
        conflicts: dict[Manager, FieldSet] = {}
        result: Managers = {}
        for manager, managed in managers.items():
            fields, version = managed.fields, managed.version
            if manager != writer:
                if version not in changes:
                    try:
                        before = await self._convert(old, version)  # known since its manager was reconciled
                        # a write that changes nothing, such as a migration's, needs no second call of a webhook
                        after = before if same(old.value, new.value) else await self._convert(new, version, "to convert new object")
                    except MissingVersionError:
                        continue
                    theirs = compare(after.merge_type, before.value, after.value).without(self._reset(version))
                    changes[version] = (field_set.union(theirs.modified, theirs.added), theirs.removed)
                changed, removed = changes[version]
                if lost := field_set.intersection(fields, changed):
                    conflicts[manager] = lost
                fields = field_set.difference(field_set.difference(fields, lost), removed)
            if fields:
                result[manager] = managed.with_fields(fields)
        if conflicts and not force:
            raise ApplyConflictError(conflicts)
        return result, own

    async def _prune(self, merged: TypedValue, managers: Managers, manager: Manager, last: VersionedSet) -> TypedValue:
        """Remove fields of the manager's earlier apply that now have no owner."""
        try:
            converted = await self._convert(merged, last.version, _PRUNE + ": failed to convert merged object to last applied version")
        except MissingVersionError:
            return merged
        pruned = _without(converted, with_named_fields(converted.merge_type, last.fields))
        before = _named(converted)
        pruned = await self._with_owned(converted, before, pruned, managers)
        pruned = await self._with_unowned(converted, before, pruned, last)
        return await self._convert(pruned, managers[manager].version, _PRUNE)

    async def _with_owned(self, converted: TypedValue, before: FieldSet, pruned: TypedValue, managers: Managers) -> TypedValue:
        """Add back fields with an owner, first in the version of the removal. `before` are the fields before it."""
        merged = converted
        owned: dict[str, list[FieldSet]] = {}
        for managed in sorted(managers.values(), key=lambda managed: managed.version != converted.version):
            owned.setdefault(managed.version, []).append(managed.fields)
        for version, sets in owned.items():
            try:
                merged = await self._convert(merged, version, f"{_OWNED}: failed to convert merged object at version {version}")
                pruned = await self._convert(pruned, version, f"{_OWNED}: failed to convert pruned object at version {version}")
            except MissingVersionError:
                continue
            kept = field_set.union(_named(pruned), with_named_fields(merged.merge_type, field_set.union_all(sets)))
            pruned = _without(merged, field_set.difference(before if merged is converted else _named(merged), kept))
        return pruned

    async def _with_unowned(self, merged: TypedValue, before: FieldSet, pruned: TypedValue, last: VersionedSet) -> TypedValue:
        """Add back fields that the manager did not own. `before` are the fields before the removal."""
        try:
            pruned = await self._convert(pruned, last.version, _UNOWNED + ": failed to convert pruned object to last applied version")
        except MissingVersionError:
            return merged
        gone = field_set.difference(before, _named(pruned))
        return _without(merged, field_set.intersection(gone, with_named_fields(merged.merge_type, last.fields)))


def _applies_all(config: TypedValue, fields: FieldSet, last: VersionedSet) -> bool:
    """Return whether a manager applies all fields of its earlier apply: then nothing can be removed.

    Return False for null and objects without fields: such a field goes if the value in the object has no leaves.
    """
    if last.version != config.version or field_set.difference(last.fields, fields):
        return False
    data = json_codec.dumps(config.value, sort_keys=False, typed=True)
    return data.find(b"{}") < 0 and data.find(b"null") < 0


def _compared(old: TypedValue, new: TypedValue) -> Comparison:
    """Compare the objects of a write. Raise ValueError if the pruning left an item without its keys."""
    try:
        return compare(new.merge_type, old.value, new.value)
    except ItemError as error:
        try:
            check(new.merge_type, new.value, duplicates=True)
        except InvalidValueError as invalid:
            raise ValueError(f"failed to compare objects: {invalid}") from error
        raise


def _without(typed: TypedValue, fields: FieldSet) -> TypedValue:
    return typed.with_value(remove(typed.merge_type, typed.value, fields))


def _named(typed: TypedValue) -> FieldSet:
    return with_named_fields(typed.merge_type, leaves(typed.merge_type, typed.value))
