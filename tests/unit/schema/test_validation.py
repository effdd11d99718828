"""Value validation: the reference's errors for each keyword, taken from its code (v0.37.1)."""

from typing import Any

import pytest

from apiext.base.meta.limits import MAX_VIOLATIONS
from apiext.schema.compiled import CompiledSchema

NOT_INT64 = '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a'
INT_OR_STRING = {"x-kubernetes-int-or-string": True}


def errors(schema: dict[str, Any], value: Any) -> list[str]:
    """Return the errors of a value at `a`."""
    compiled = CompiledSchema({"type": "object", "properties": {"a": schema}})
    return [str(error) for error in compiled.validate_values({"a": value})]


def wrong_type(expected: str, actual: str) -> list[str]:
    """Return the one error about a type."""
    return [f'a: Invalid value: "{actual}": a in body must be of type {expected}: "{actual}"']


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"type": "string"}, 1, wrong_type("string", "integer")),
        ({"type": "string"}, None, wrong_type("string", "null")),
        ({"type": "integer"}, "1", wrong_type("integer", "string")),
        ({"type": "integer"}, 1.5, [*wrong_type("integer", "number"), NOT_INT64]),
        ({"type": "integer"}, 2.0, []),
        ({"type": "number"}, 1, []),
        ({"type": "boolean"}, {}, wrong_type("boolean", "object")),
        ({"type": "object"}, [], wrong_type("object", "array")),
        ({"type": "array", "items": {}}, True, wrong_type("array", "boolean")),
        ({"type": "string", "nullable": True}, None, []),
        ({}, None, []),
        ({"type": "integer", "format": "int32"}, True, ['a: Invalid value: "": a in body must be of type int32: ""']),
        ({"type": "string", "format": "date"}, 5, ['a: Invalid value: "int64": a in body must be of type date: "int64"']),
        ({"type": "string", "format": "date"}, [], []),
        (INT_OR_STRING, 1, []),
        (INT_OR_STRING, "1", []),
        (INT_OR_STRING, True, wrong_type("integer,string", "boolean")),
        (INT_OR_STRING | {"nullable": True}, None, []),
    ],
)
def test_type(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    """Accept whole floats as integers, integers as numbers, and lists for formatted strings, as the reference does."""
    assert expected == errors(schema, value)


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"maximum": 5}, 5, []),
        ({"maximum": 5}, 6, ["a: Invalid value: 6: a in body should be less than or equal to 5"]),
        ({"maximum": 5, "exclusiveMaximum": True}, 5, ["a: Invalid value: 5: a in body should be less than 5"]),
        ({"minimum": 5}, 4, ["a: Invalid value: 4: a in body should be greater than or equal to 5"]),
        ({"minimum": 5, "exclusiveMinimum": True}, 5, ["a: Invalid value: 5: a in body should be greater than 5"]),
        ({"minimum": 5.5}, 5, []),
        ({"maximum": 5.5}, 6, ["a: Invalid value: 6: a in body should be less than or equal to 5"]),
        ({"maximum": 5.5}, 5.6, ["a: Invalid value: 5.6: a in body should be less than or equal to 5.5"]),
        ({"maximum": 1e6}, 1e7, ["a: Invalid value: 1e+07: a in body should be less than or equal to 1e+06"]),
        ({"maximum": 1e300}, 5, ["a: Invalid value: 5: a in body should be less than or equal to -9223372036854775808"]),
        ({"multipleOf": 3}, 7, ["a: Invalid value: 7: a in body should be a multiple of 3"]),
        ({"multipleOf": 0.1}, 0.3, []),
        ({"multipleOf": 0.1}, 0.35, ["a: Invalid value: 0.35: a in body should be a multiple of 0.1"]),
        ({"multipleOf": 0.5}, 1, ["a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"]),
        ({"format": "float"}, 1e39, ['<nil>: Invalid value: "": Checked value must be of type number with format float in a']),
        ({"format": "double"}, 1e300, []),
        ({"format": "int32"}, 2**40, []),
    ],
)
def test_number(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    """Truncate bounds to integers when an integer is compared with them."""
    assert expected == errors({"type": "number"} | schema, value)


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"format": "int32"}, 2**31 - 1, []),
        ({"format": "int32"}, 2**31, ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a']),
        ({}, 1e19, [*wrong_type("integer", "number"), NOT_INT64]),
        ({"maximum": 5.5}, 1, ['<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in a']),
        ({"minimum": 0, "maximum": 10, "multipleOf": 2}, 4, []),
        (
            {"minimum": 6, "maximum": 4, "multipleOf": 2},
            5,
            [
                "a: Invalid value: 5: a in body should be a multiple of 2",
                "a: Invalid value: 5: a in body should be greater than or equal to 6",
                "a: Invalid value: 5: a in body should be less than or equal to 4",
            ],
        ),
    ],
)
def test_integer(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    """Check values and bounds against the format, and return all errors in order."""
    assert expected == errors({"type": "integer"} | schema, value)


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"maxLength": 3}, "\u00e9\u00e9\u00e9", []),
        ({"maxLength": 3}, "abcd", ["a: Too long: may not be more than 3 bytes"]),
        ({"minLength": 2}, "a", ['a: Invalid value: "a": a in body should be at least 2 chars long']),
        ({"pattern": "^a+$"}, "b", ["a: Invalid value: \"b\": a in body should match '^a+$'"]),
        ({"maxLength": 1, "pattern": "^a$"}, "bb", ["a: Too long: may not be more than 1 byte"]),
        (
            {"pattern": "("},
            "x",
            ["a: Invalid value: \"x\": a in body should match '(, but pattern is invalid: error parsing regexp: missing closing ): `(`'"],
        ),
        ({"format": "date"}, "soon", ['a: Invalid value: "soon": a in body must be of type date: "soon"']),
        ({"format": "date-time"}, "so\non", ['a: Invalid value: "so\\non": a in body must be of type date-time: "so\\non"']),
        ({"format": "unheard-of"}, "x", []),
        ({"format": "int32"}, "x", []),
    ],
)
def test_string(schema: dict[str, Any], value: str, expected: list[str]) -> None:
    """Count characters, return the first error of length and pattern, and ignore unknown formats."""
    assert expected == errors({"type": "string"} | schema, value)


@pytest.mark.parametrize(
    "enum, value, expected",
    [
        (["a", "b"], "b", []),
        (["a", 1, {"x": 1.5}], "c", ['a: Unsupported value: "c": supported values: "a", "1", "{\\"x\\":1.5}"']),
        (["a", None], None, ['a: Unsupported value: null: supported values: "a", "null"']),
        ([1], True, ['a: Unsupported value: true: supported values: "1"']),
        ([2], 2.7, []),
        ([2.0], 2, []),
        (["a"], 97, []),
        ([["a"]], ["a"], []),
    ],
)
def test_enum(enum: list[Any], value: Any, expected: list[str]) -> None:
    """Compare values after conversion to the type of the allowed one; never accept null."""
    assert expected == errors({"x-kubernetes-preserve-unknown-fields": True, "enum": enum}, value)


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"minItems": 1}, [], ["a: Invalid value: 0: a in body should have at least 1 items"]),
        ({"maxItems": 1}, [1, 2], ["a: Too many: 2: must have at most 1 item"]),
        ({"uniqueItems": True}, [1, 1.0, 2], []),
        ({"uniqueItems": True}, [{"b": 1}, {"b": 1}], ['a: Invalid value: "": a in body shouldn\'t contain duplicates']),
        (
            {"items": {"type": "integer", "maximum": 1}},
            [0, "x", 2],
            [
                'a[1]: Invalid value: "string": a[1] in body must be of type integer: "string"',
                "a[2]: Invalid value: 2: a[2] in body should be less than or equal to 1",
            ],
        ),
    ],
)
def test_list(schema: dict[str, Any], value: list[Any], expected: list[str]) -> None:
    """Return the errors of items before that of the size."""
    assert expected == errors({"type": "array", "items": {}} | schema, value)


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"required": ["b"]}, {}, ["a.b: Required value"]),
        ({"required": ["b"]}, {"b": None}, []),
        ({"minProperties": 1}, {}, ["a: Invalid value: 0: a in body should have at least 1 properties"]),
        ({"maxProperties": 1}, {"b": 1, "c": 1}, ["a: Too many: 2: must have at most 1 item"]),
        (
            {"additionalProperties": {"type": "string"}},
            {"b": 1},
            ['a.b: Invalid value: "integer": a.b in body must be of type string: "integer"'],
        ),
        ({"additionalProperties": False}, {"b": 1}, ['a: Invalid value: "b": a.b in body is a forbidden property']),
        ({"properties": {"b": {}}, "additionalProperties": False}, {"b": 1}, []),
        (
            {"properties": {"b": {"type": "string"}}, "required": ["c"], "minProperties": 2},
            {"b": 1},
            [
                "a: Invalid value: 1: a in body should have at least 2 properties",
                'a.b: Invalid value: "integer": a.b in body must be of type string: "integer"',
                "a.c: Required value",
            ],
        ),
    ],
)
def test_object(schema: dict[str, Any], value: dict[str, Any], expected: list[str]) -> None:
    """Return the error of the size, then those of members, then missing ones."""
    assert expected == errors({"type": "object"} | schema, value)


def composite(text: str) -> str:
    """Return an error about a combination, which is at the root."""
    return f'<nil>: Invalid value: "": "a" must {text}'


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ({"anyOf": [{"minimum": 5}, {"maximum": 1}]}, 0, []),
        (
            {"anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            [
                composite("validate at least one schema (anyOf)"),
                "a: Invalid value: 3: a in body should be greater than or equal to 5",
            ],
        ),
        ({"oneOf": [{"minimum": 5}, {"maximum": 1}]}, 6, []),
        (
            {"oneOf": [{"minimum": 0}, {"maximum": 9}]},
            5,
            [composite("validate one and only one schema (oneOf). Found 2 valid alternatives")],
        ),
        (
            {"oneOf": [{"minimum": 5}, {"enum": [1]}]},
            3,
            [
                composite("validate one and only one schema (oneOf). Found none valid"),
                "a: Invalid value: 3: a in body should be greater than or equal to 5",
            ],
        ),
        (
            {"allOf": [{"minimum": 5}, {"maximum": 9}]},
            3,
            [
                "a: Invalid value: 3: a in body should be greater than or equal to 5",
                composite("validate all the schemas (allOf)"),
            ],
        ),
        (
            {"allOf": [{"minimum": 5}]},
            3,
            [
                "a: Invalid value: 3: a in body should be greater than or equal to 5",
                composite("validate all the schemas (allOf). None validated"),
            ],
        ),
        ({"not": {"minimum": 5}}, 6, [composite("not validate the schema (not)")]),
        ({"not": {"minimum": 5}}, 4, []),
    ],
)
def test_combination(schema: dict[str, Any], value: int, expected: list[str]) -> None:
    """Report the failed combination and the alternative that matched best."""
    assert expected == errors({"type": "integer"} | schema, value)


def test_shows_the_best_alternative() -> None:
    """Report the failed alternative with the most passed checks."""
    far = {"required": ["x", "y"]}
    near = {"properties": {"b": {"minLength": 1}, "c": {"minLength": 9}}}
    found = errors({"type": "object", "properties": {"b": {}, "c": {}}, "anyOf": [far, near]}, {"b": "b", "c": "c"})

    assert [
        composite("validate at least one schema (anyOf)"),
        'a.c: Invalid value: "c": a.c in body should be at least 9 chars long',
    ] == found


def test_reports_a_message_once() -> None:
    """Return one error for a violation that is found twice."""
    found = errors({"type": "object", "required": ["b"], "allOf": [{"required": ["b"]}]}, {})

    assert ["a.b: Required value", composite("validate all the schemas (allOf). None validated")] == found


def test_the_root_has_no_name() -> None:
    """Report errors about the object itself at `<nil>`."""
    compiled = CompiledSchema({"type": "object", "required": ["spec"], "maxProperties": 0, "additionalProperties": {"type": "string"}})

    assert [str(error) for error in compiled.validate_values({"a": 1})] == [
        "<nil>: Too many: 1: must have at most 0 items",
        'a: Invalid value: "integer": .a in body must be of type string: "integer"',
        "spec: Required value",
    ]


@pytest.mark.parametrize(
    "schema, value",
    [
        ({"type": "array", "items": {"type": "string"}}, [1] * 30_000),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {str(number): number for number in range(30_000)}),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, [[1] * 15_000] * 3),
    ],
)
def test_limits_violations(schema: dict[str, Any], value: Any) -> None:
    """Stop after MAX_VIOLATIONS."""
    assert MAX_VIOLATIONS <= len(errors(schema, value)) < 2 * MAX_VIOLATIONS
