"""Pruning of values that are shared: what changes is copied."""

from __future__ import annotations

from typing import Any, Final

from apiext.base.meta.encoding import json_values
from apiext.schema.canonical import are_complete, supports
from apiext.schema.defaulting.algorithm import prune_non_nullable_nulls_without_defaults
from apiext.schema.model import Structural
from apiext.schema.pruning import META_FIELDS, prune_fields

_SCALARS: Final = frozenset({str, int, bool, float})
_NOTHING: Final[dict[str, Any]] = {}


class SharedPruning:
    """Prunes objects by a schema, and drops the nulls that it does not allow. Changes no object or list below an object."""

    __slots__ = ("_is_fast", "_resource", "_schema")

    def __init__(self, schema: Structural) -> None:
        self._schema = schema
        self._resource = schema.as_resource()
        self._is_fast = supports(schema)

    def apply(self, obj: dict[str, Any], known: dict[str, Any] = _NOTHING) -> bool:
        """Replace the members of an object in which something has to be dropped. Return whether nothing had to be.

        Values that are the same Python objects in the pruned object `known` are not checked.
        """
        if not self._is_fast:
            obj |= {name: json_values.copy(value) for name, value in obj.items() if name not in META_FIELDS}
            has_dropped = prune_fields(obj, self._resource)
            return not prune_non_nullable_nulls_without_defaults(obj, self._schema) and not has_dropped
        content = {name: value for name, value in obj.items() if name not in META_FIELDS}
        kept = _pruned_object(content, self._schema, known, preserve=self._schema.preserve)
        if kept is content:
            return True
        for name in content.keys() - kept.keys():
            del obj[name]
        obj |= kept
        return False


def _pruned(value: Any, schema: Structural | None, known: Any, *, preserve: bool) -> Any:
    """Return an object or list without what `prune` and the removal of nulls drop: the same one if that is nothing."""
    if schema is None:
        return _emptied(value)
    preserve = preserve or schema.preserve
    if type(value) is dict:
        return _pruned_object(value, schema, known if type(known) is dict else _NOTHING, preserve=preserve)
    items = schema.items
    if (items is None and preserve) or (items is not None and are_complete(value, items)):
        return value
    kept = [_pruned(item, items, _NOTHING, preserve=preserve) if type(item) is dict or type(item) is list else item for item in value]
    return value if all(map(_is_same, kept, value)) else kept


def _pruned_object(value: dict[str, Any], schema: Structural, known: dict[str, Any], *, preserve: bool) -> dict[str, Any]:
    properties = schema.properties
    changed: dict[str, Any] = {}
    dropped: list[str] = []
    for key, member in value.items():
        child = properties.get(key)
        if child is None:
            if not schema.has_additional:
                if not preserve:
                    dropped.append(key)
                continue
            child = schema.additional
        if type(member) in _SCALARS:
            continue
        if member is None:
            if child is not None and not child.nullable and child.default is None:
                dropped.append(key)
            continue
        same = known.get(key)
        if same is member:
            continue
        kept = _pruned(member, child, same, preserve=False)
        if kept is not member:
            changed[key] = kept
    if not changed and not dropped:
        return value
    found = value | changed
    for key in dropped:
        del found[key]
    return found


def _emptied(value: Any) -> Any:
    """Return nested lists with all their objects empty: the same value if they are."""
    if type(value) is dict:
        return {} if value else value
    kept = [_emptied(item) if type(item) is dict or type(item) is list else item for item in value]
    return value if all(map(_is_same, kept, value)) else kept


def _is_same(one: Any, other: Any) -> bool:
    return one is other
