"""Rules of keywords that restrict values."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import compare_schemas

Props = dict[str, Any]
INT32: Final[Props] = {"type": "integer", "format": "int32"}
FLOAT: Final[Props] = {"type": "number", "format": "float"}


def changes(old: Props, new: Props) -> list[tuple[str, str]]:
    """Return the rules and paths of the changes of a field `a`."""
    found = compare_schemas({"properties": {"a": old}}, {"properties": {"a": new}})
    return sorted((change.rule, change.path) for change in found)


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        # bounds
        ({}, {"maximum": 5}, "maximumNarrowed", "maximumWidened"),
        ({"maximum": 5}, {"maximum": 4}, "maximumNarrowed", "maximumWidened"),
        ({"maximum": 5}, {"maximum": 5, "exclusiveMaximum": True}, "maximumNarrowed", "maximumWidened"),
        ({"maximum": 5}, {"maximum": 4.5, "exclusiveMaximum": True}, "maximumNarrowed", "maximumWidened"),
        ({"maximum": 4}, {"maximum": 5, "exclusiveMaximum": True}, "maximumWidened", "maximumNarrowed"),
        ({}, {"minimum": 0}, "minimumNarrowed", "minimumWidened"),
        ({"minimum": 1}, {"minimum": 2}, "minimumNarrowed", "minimumWidened"),
        ({"minimum": 1}, {"minimum": 1, "exclusiveMinimum": True}, "minimumNarrowed", "minimumWidened"),
        ({"maximum": 5}, {"maximum": 5.0}, None, None),
        ({}, {"exclusiveMaximum": True}, None, None),
        # the server rejects all integers if a bound is none
        ({"type": "integer", "maximum": 5}, {"type": "integer", "maximum": 5.5}, "maximumNarrowed", "maximumWidened"),
        ({"type": "integer", "maximum": 5}, {"type": "integer", "maximum": 1e30}, "maximumNarrowed", "maximumWidened"),
        ({"type": "number", "maximum": 5}, {"type": "number", "maximum": 1e30}, "maximumNarrowed", "maximumWidened"),
        ({**INT32, "maximum": 5}, {**INT32, "maximum": 2**31}, "maximumNarrowed", "maximumWidened"),
        ({**FLOAT, "minimum": 0}, {**FLOAT, "minimum": -1e39}, "minimumNarrowed", "minimumWidened"),
        ({"type": "number", "minimum": 0}, {"type": "number", "minimum": -1e39}, "minimumWidened", "minimumNarrowed"),
        ({}, {"maxLength": 5}, "maxLengthNarrowed", "maxLengthWidened"),
        ({"maxLength": 5}, {"maxLength": 0}, "maxLengthNarrowed", "maxLengthWidened"),
        ({"minLength": 1}, {"minLength": 2}, "minLengthNarrowed", "minLengthWidened"),
        ({}, {"minLength": 0}, None, None),
        ({"maxItems": 2}, {"maxItems": 1}, "maxItemsNarrowed", "maxItemsWidened"),
        ({}, {"minItems": 1}, "minItemsNarrowed", "minItemsWidened"),
        ({"maxProperties": 2}, {"maxProperties": 1}, "maxPropertiesNarrowed", "maxPropertiesWidened"),
        ({"minProperties": 1}, {"minProperties": 2}, "minPropertiesNarrowed", "minPropertiesWidened"),
        # multipleOf
        ({}, {"multipleOf": 2}, "multipleOfNarrowed", "multipleOfWidened"),
        ({"multipleOf": 2}, {"multipleOf": 4}, "multipleOfNarrowed", "multipleOfWidened"),
        ({"multipleOf": 3}, {"multipleOf": 1.5}, "multipleOfChanged", "multipleOfChanged"),
        ({"multipleOf": 2}, {"multipleOf": 3}, "multipleOfChanged", "multipleOfChanged"),
        ({"multipleOf": 2}, {"multipleOf": 0}, "multipleOfWidened", "multipleOfNarrowed"),
        # uniqueItems, pattern
        ({}, {"uniqueItems": True}, "uniqueItemsNarrowed", "uniqueItemsWidened"),
        ({"uniqueItems": False}, {}, None, None),
        ({}, {"pattern": "a"}, "patternAdded", "patternRemoved"),
        ({"pattern": ""}, {"pattern": "a"}, "patternAdded", "patternRemoved"),
        ({"pattern": "a"}, {"pattern": "b"}, "patternChanged", "patternChanged"),
        ({"pattern": "^a+$"}, {"pattern": "^[ab]+$"}, "patternWidened", "patternNarrowed"),
        ({"pattern": "[[:digit:]]"}, {"pattern": "[0-9]"}, "patternRewritten", "patternRewritten"),
        ({}, {"pattern": ".?"}, "patternRewritten", "patternRewritten"),
        # format
        ({"type": "string"}, {"type": "string", "format": "date"}, "formatNarrowed", "formatWidened"),
        ({"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}, "formatChanged", "formatChanged"),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "datetime"}, *["uncheckedFormatChanged"] * 2),
        ({"type": "string"}, {"type": "string", "format": "go-duration"}, "uncheckedFormatChanged", "uncheckedFormatChanged"),
        ({"type": "string"}, {"type": "string", "format": "password"}, "uncheckedFormatChanged", "uncheckedFormatChanged"),
        ({"type": "string", "format": "my-own"}, {"type": "string", "format": "date"}, "formatNarrowed", "formatWidened"),
        ({"type": "string"}, {"type": "string", "format": "int32"}, "uncheckedFormatChanged", "uncheckedFormatChanged"),
        ({"type": "integer"}, {"type": "integer", "format": "int32"}, "formatNarrowed", "formatWidened"),
        ({"type": "integer", "format": "int64"}, {"type": "integer", "format": "int32"}, "formatNarrowed", "formatWidened"),
        ({"type": "number", "format": "double"}, {"type": "number", "format": "float"}, "formatNarrowed", "formatWidened"),
        # enum
        ({}, {"enum": ["a"]}, "enumAdded", "enumRemoved"),
        ({"enum": []}, {"enum": ["a"]}, "enumAdded", "enumRemoved"),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, "enumValueRemoved", "enumValueAdded"),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a", "a"]}, None, None),
        # required
        ({}, {"required": ["b"]}, "requiredAdded", "requiredRemoved"),
        ({"required": ["b", "c"]}, {"required": ["c", "b"]}, None, None),
    ],
)
def test_both_directions(old: Props, new: Props, there: str | None, back: str | None) -> None:
    """Find the rule of a change, and that of the opposite change."""
    path = "a.b" if "required" in new else "a"

    assert changes(old, new) == ([(there, path)] if there else [])
    assert changes(new, old) == ([(back, path)] if back else [])


def test_exchanged_values_of_an_enum() -> None:
    """Report values that came and values that went. True, 1 and "1" are different values."""
    expected = [("enumValueAdded", "a"), ("enumValueRemoved", "a")]

    assert changes({"enum": ["a", "b"]}, {"enum": ["b", "c"]}) == expected
    assert changes({"enum": [True]}, {"enum": [1]}) == expected
    assert changes({"enum": ["1"]}, {"enum": [1]}) == expected


@pytest.mark.parametrize(
    "schema, rule",
    [
        ({"type": "string", "default": "x"}, "requiredWithDefaultAdded"),
        ({"type": "string", "default": ""}, "requiredWithDefaultAdded"),
        ({"type": "boolean", "default": False}, "requiredWithDefaultAdded"),
        ({"type": "string"}, "requiredAdded"),
        ({"type": "string", "default": None}, "requiredAdded"),
    ],
)
def test_a_default_satisfies_required(schema: Props, rule: str) -> None:
    """Tell a required field with a default from one without: the server sets defaults before it checks."""
    properties = {"properties": {"b": schema}}

    assert changes(properties, properties | {"required": ["b"]}) == [(rule, "a.b")]


def test_messages_have_both_values() -> None:
    """Write the old and the new value, and whether a bound is exclusive."""
    old = {"properties": {"a": {"maximum": 5, "pattern": "^<a>$", "enum": ["a"]}}}
    new = {"properties": {"a": {"maximum": 5, "exclusiveMaximum": True, "pattern": "b", "enum": ["a", "b" * 200]}}}

    found = {change.rule: change.message for change in compare_schemas(old, new)}

    assert found["maximumNarrowed"] == "maximum changed from 5 to 5 (exclusive)"
    assert found["patternChanged"] == 'pattern changed from "^<a>$" to "b"'
    assert found["enumValueAdded"].startswith('enum accepts "bbb')
    assert found["enumValueAdded"].endswith("..., too")
    assert len(found["enumValueAdded"]) < 150
