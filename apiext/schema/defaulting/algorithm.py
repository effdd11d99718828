"""Defaulting of objects (defaulting/algorithm.go), and removal of disallowed nulls (defaulting/prunenulls.go)."""

from __future__ import annotations

from typing import Any

from apiext.base.meta.encoding import json_values
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.defaulting.prune import counted_default, pruned_defaults
from apiext.schema.model import Default, Structural


def default(value: Any, schema: Structural) -> None:
    """Set copies of the defaults for absent fields and for disallowed nulls, in place."""
    if type(value) is dict:
        _default_object(value, schema)
    elif type(value) is list:
        items = schema.items
        if items is None:
            return
        for index, item in enumerate(value):
            if item is None:
                _replace_null(value, index, items)
            elif type(item) is dict or type(item) is list:
                default(item, items)


def defaults_of(schema: Structural) -> tuple[Default, ...]:
    """Return the pruned defaults of a schema's properties, computed on first use. Raises as `default`."""
    try:
        return schema.defaults
    except AttributeError:
        schema.defaults = pruned_defaults(schema)
        return schema.defaults


def _default_object(value: dict[str, Any], schema: Structural) -> None:
    for name, default_value, nullable, steps in defaults_of(schema):
        if name not in value or (value[name] is None and not nullable):
            current_work().step(steps)
            value[name] = json_values.copy(default_value)
    properties = schema.properties
    for key, member in value.items():
        kind = type(member)
        if kind is str:
            continue
        if kind is dict or kind is list:
            child = properties.get(key) or schema.additional
            if child is not None:
                default(member, child)
        elif member is None and key not in properties and schema.additional is not None:
            _replace_null(value, key, schema.additional)


def _replace_null(holder: Any, place: str | int, schema: Structural) -> None:
    """Replace a disallowed null by the default."""
    if not schema.nullable:
        found, steps = counted_default(schema)
        current_work().step(steps)
        value = holder[place] = json_values.copy(found)
        default(value, schema)


def prune_non_nullable_nulls_without_defaults(value: Any, schema: Structural) -> bool:
    """Drop disallowed null members without a default, in place. Return whether there were any."""
    has_dropped = False
    if type(value) is dict:
        doomed: list[str] = []
        properties = schema.properties
        for key, member in value.items():
            kind = type(member)
            if kind is str:
                continue
            if kind is dict or kind is list:
                child = properties.get(key) or schema.additional
                if child is not None and prune_non_nullable_nulls_without_defaults(member, child):
                    has_dropped = True
            elif member is None:
                child = properties.get(key) or schema.additional
                if child is not None and not child.nullable and child.default is None:
                    doomed.append(key)
        for key in doomed:
            del value[key]
        has_dropped = has_dropped or bool(doomed)
    elif type(value) is list and schema.items is not None:
        items = schema.items
        for item in value:
            if type(item) is dict or type(item) is list:
                has_dropped = prune_non_nullable_nulls_without_defaults(item, items) or has_dropped
    return has_dropped
