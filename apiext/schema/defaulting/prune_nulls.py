"""Removal of disallowed nulls without a default (defaulting/prunenulls.go)."""

from __future__ import annotations

from typing import Any

from apiext.schema.model import Structural


def prune_non_nullable_nulls_without_defaults(value: Any, schema: Structural) -> None:
    """Drop disallowed null members without a default, in place."""
    if type(value) is dict:
        doomed: list[str] = []
        properties = schema.properties
        for key, member in value.items():
            kind = type(member)
            if kind is str:
                continue
            if kind is dict or kind is list:
                child = properties.get(key) or schema.additional
                if child is not None:
                    prune_non_nullable_nulls_without_defaults(member, child)
            elif member is None:
                child = properties.get(key) or schema.additional
                if child is not None and not child.nullable and child.default is None:
                    doomed.append(key)
        for key in doomed:
            del value[key]
    elif type(value) is list and schema.items is not None:
        items = schema.items
        for item in value:
            if type(item) is dict or type(item) is list:
                prune_non_nullable_nulls_without_defaults(item, items)
