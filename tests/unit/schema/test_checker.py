"""Checks of several keywords that become one."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import pytest

from apiext.schema.field_path import DottedPath
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.spec import Spec

BOUNDS: Final = {"minimum": (1, 1.5, -(2**63)), "maximum": (3, 2.5, 2**63), "exclusiveMinimum": (True,), "exclusiveMaximum": (True,)}
SIZES: Final = {
    "minLength": (0, 2),
    "maxLength": (0, 2),
    "minItems": (0, 2),
    "maxItems": (2,),
    "minProperties": (2,),
    "maxProperties": (0, 2),
}
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False),
    *(-(2**63), -1, 0, 1, 2, 3, 4, 2**31, 2**63 - 1, 2**63, 0.5, 1.5, 2.5),
    *("", "a", "ab", "abc"),
    *([], ["a"], [1, 2], [1, 2, 3]),
    *({}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}),
)


def schemas(type_name: str, *tables: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return schemas of a type with all combinations of the keywords of tables, or without them."""
    options = {name: (None, *values) for table in tables for name, values in table.items()}
    combined = [dict(zip(options, values, strict=True)) for values in product(*options.values())]
    own = {"type": type_name} if type_name else {}
    return [own | {name: value for name, value in each.items() if value is not None} for each in combined]


@pytest.mark.parametrize(
    "given",
    [
        schemas("integer", BOUNDS, {"format": ("int32", "int64"), "multipleOf": (2,)}),
        schemas("number", BOUNDS, {"format": ("float",), "multipleOf": (0.5,)}),
        schemas("", BOUNDS),
        schemas("string", {name: SIZES[name] for name in ("minLength", "maxLength")}, {"pattern": ("^a",), "enum": (["a", "ab", "abc"],)}),
        schemas("array", {name: SIZES[name] for name in ("minItems", "maxItems")}, {"items": ({"type": "integer"}, {"type": "object"})}),
        schemas("object", {name: SIZES[name] for name in ("minProperties", "maxProperties")}, {"required": (["a"],)}),
        schemas("", SIZES),
    ],
    ids=["integer", "number", "any number", "string", "array", "object", "any size"],
)
def test_agrees_with_the_report(given: list[dict[str, Any]]) -> None:
    """Accept exactly the values of which the report is empty, however keywords are combined."""
    for schema in given:
        spec = Spec(schema, served=True)
        check = compile_check(spec)

        assert [check(value) for value in VALUES] == [spec.report(value, DottedPath()).is_valid for value in VALUES], schema
