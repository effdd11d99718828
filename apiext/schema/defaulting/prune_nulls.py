"""Removal of disallowed nulls without a default (defaulting/prunenulls.go)."""

from __future__ import annotations

from typing import Any

from apiext.schema.model import Structural


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
