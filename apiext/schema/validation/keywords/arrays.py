"""The keywords of arrays: items, minItems, maxItems and uniqueItems (validate/slice_validator.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.schema.lazy_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import Check, Constraint, Functions, constraint
from apiext.schema.validation.keywords.objects import greatest_size, is_plain_object, least_size, objects_check
from apiext.schema.validation.result import Result, invalid

if TYPE_CHECKING:
    from apiext.schema.validation.keywords.constraint import Node


def items(spec: Node, _: type) -> Constraint | None:
    """Validate the items."""
    child = spec.items
    if child is None:
        return None

    def report(value: list[Any], name: DottedPath, result: Result, known: Correlated | None) -> None:
        for index, item in enumerate(value):
            if result.is_full:
                break
            result.merge(child.report_change(item, DottedPath(name, f"[{index}]"), known and known.index(index)))

    return Constraint(objects_check(child) if is_plain_object(child) else _items_check(child), report)


def _items_check(spec: Node) -> Check:
    def check(value: list[Any]) -> bool:
        valid = spec.check
        for item in value:  # noqa: SIM110 a generator would double the time
            if not valid(item):
                return False
        return True

    return check


def min_items(spec: Node, _: type) -> Constraint | None:
    """Require a number of items."""
    return least_size(spec, "minItems", "items")


def max_items(spec: Node, _: type) -> Constraint | None:
    """Limit the number of items."""
    return greatest_size(spec, "maxItems", "items")


def unique_items(spec: Node, _: type) -> Constraint | None:
    """Require that no two items are deeply equal."""
    if spec.raw.get("uniqueItems") is not True:
        return None
    return constraint(
        lambda value: len(set(map(json_values.identity, value))) == len(value),
        lambda _, name: invalid(name, None, f"{name} in body shouldn't contain duplicates"),
    )


ARRAYS: Final[Functions] = {"items": items, "minItems": min_items, "maxItems": max_items, "uniqueItems": unique_items}
