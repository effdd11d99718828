"""Evaluation of rules over objects; tests/differential/cel/test_rules.py compares it with kube-apiserver."""

from typing import Any

import pytest

from apiext.base.meta.limits import MAX_ERROR_CHARACTERS, MAX_VIOLATIONS
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.schema.cel.rules.evaluation import RuleResult
from apiext.schema.compiled import CompiledSchema

Schema = dict[str, Any]
INTEGER: Schema = {"type": "integer"}
QUADRATIC = "self.all(x, self.all(y, x >= 0))"


def ruled(schema: Schema, *rules: Schema | str) -> Schema:
    """Return a schema with rules; a text is a rule without other members."""
    return schema | {"x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}


def struct(**properties: Schema) -> Schema:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties}


def numbers(most: int, **more: Any) -> Schema:
    """Return the schema of a list of integers."""
    return {"type": "array", "items": INTEGER, "maxItems": most, **more}


def texts(result: RuleResult) -> list[str]:
    """Return the errors as texts."""
    return [str(error) for error in result.errors]


def broken(schema: Schema, obj: Any, old: Any = None) -> list[str]:
    """Return the errors of an object."""
    return texts(CompiledSchema(schema).validate_rules(obj, old))


def test_schemas_without_rules() -> None:
    """Evaluate nothing, and report that there are no rules."""
    schema = CompiledSchema(struct(a=INTEGER) | {"description": "has no x-kubernetes-validations"})

    assert not schema.has_rules
    assert schema.validate_rules({"a": 1}) == RuleResult()


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"a": 0}, ["a: Invalid value: 0: failed rule: self > 0"]),
        ({"a": None}, []),
        ({"list": [1, 0, 0]}, [f"list[{index}]: Invalid value: 0: failed rule: self > 0" for index in (1, 2)]),
        ({"map": {"x y": 0}}, ["map[x y]: Invalid value: 0: failed rule: self > 0"]),
        ({"kind": "L"}, ["<nil>: Invalid value: failed rule: self.kind == 'K'"]),
        ({"metadata": {"name": "b"}}, ["name: Forbidden: other name"]),
    ],
)
def test_names_places(change: Schema, expected: list[str]) -> None:
    """Report the path of a value, that of the rule's member, or none for the whole object."""
    positive = ruled(INTEGER, "self > 0")
    properties = {"a": positive, "list": {"type": "array", "items": positive}, "map": {"type": "object", "additionalProperties": positive}}
    name = {"rule": "self.metadata.name == 'a'", "fieldPath": ".name", "reason": "FieldValueForbidden", "message": "other name"}
    schema = ruled(struct(name={"type": "string"}, **properties), "self.kind == 'K'", name)

    assert broken(schema, {"kind": "K", "metadata": {"name": "a"}, "a": 1, "list": [1], "map": {"a": 1}} | change) == expected


def test_rules_inside_all_of() -> None:
    """Evaluate rules inside allOf beside others, without ratcheting of the value itself; alone they are not found."""
    clause = {"allOf": [ruled(struct(a=ruled({}, "self > 1")), "self.a > 2")]}
    schema = struct(s=ruled(struct(a=INTEGER), "self.a > 3") | clause)

    assert broken(schema, {"s": {"a": 1}}) == [
        "s: Invalid value: failed rule: self.a > 3",
        "s: Invalid value: failed rule: self.a > 2",
        "s.a: Invalid value: 1: failed rule: self > 1",
    ]
    result = CompiledSchema(schema).validate_rules({"s": {"a": 1}, "t": 1}, {"s": {"a": 1}, "t": 2})
    assert texts(result) == ["s: Invalid value: failed rule: self.a > 2", "s.a: Invalid value: 1: failed rule: self > 1"]
    assert result.warnings == ["s: Invalid value: failed rule: self.a > 3"]
    assert broken(struct(s=struct(a=INTEGER) | clause), {"s": {"a": 1}}) == []


def test_unsound_definitions() -> None:
    """Report rules that cannot be compiled, which only definitions have that were stored without validation."""
    assert broken(struct(a=ruled(INTEGER, "self.b", "self > 1")), {"a": 0}) == [
        (
            'a: Invalid value: "integer": rule compile error: '
            "compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection\n"
            " | self.b\n | ....^"
        ),
        "a: Invalid value: 0: failed rule: self > 1",
    ]
    assert broken(ruled({"type": "array", "items": {}}, "true"), []) == [
        '<nil>: Invalid value: "array": rule compiler initialization error: failed to convert to declType for CEL validation rules'
    ]


def test_values_beyond_limits() -> None:
    """Count the costs of values that exceed a limit of the schema, which an update tolerates."""
    schema = CompiledSchema(struct(a=ruled(numbers(5), QUADRATIC)))
    large = {"a": [1] * 800}

    assert texts(schema.validate_rules({"a": [1] * 5})) == []
    assert texts(schema.validate_rules(large | {"b": 1}, large, is_valid=schema.is_valid(large))) == [
        (
            "a: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run "
            f"due to call cost exceeds limit for rule: {QUADRATIC}"
        )
    ]


def test_many_errors() -> None:
    """Stop when there are enough errors."""
    many = {"type": "array", "items": ruled(INTEGER, {"rule": "self > 0", "message": "m"})}
    long = {"type": "array", "items": ruled(INTEGER, {"rule": "self > 0", "message": "m" * 2000})}

    assert len(broken(struct(a=many), {"a": [0] * (MAX_VIOLATIONS + 5)})) == MAX_VIOLATIONS
    assert len(broken(struct(a=long), {"a": [0] * 2000})) == MAX_ERROR_CHARACTERS // 2000 + 1


def test_event_loop_evaluates_little() -> None:
    """Leave costly evaluations to worker processes."""
    schema = CompiledSchema(struct(a=ruled(numbers(1000), QUADRATIC), b=ruled(INTEGER, "self > 0")))

    assert texts(schema.validate_rules({"a": [1] * 400, "b": 1})) == []
    with InlineWork():
        assert texts(schema.validate_rules({"a": [1] * 20, "b": 1})) == []
    with InlineWork(), pytest.raises(HeavyWorkError):
        schema.validate_rules({"a": [1] * 400})


def test_estimates_are_not_limits() -> None:
    """Evaluate an object whose values cost little, however much they could cost."""
    items = {"type": "array", "items": ruled(numbers(60), "self.all(x, x >= 0)"), "maxItems": 10_000}

    assert broken(struct(a=items), {"a": [[1]] * 10_000}) == []


@pytest.mark.parametrize(
    "rule, expected",
    [
        ("self.a > 7", "invalid data, expected int, got float64 evaluating rule: self.a > 7"),
        ("has(self.a)", "invalid data, expected int, got float64 evaluating rule: has(self.a)"),
        ("self.?a.hasValue()", "invalid data, expected int, got float64 evaluating rule: self.?a.hasValue()"),
        ("has(self.m.x)", "invalid data, expected int, got float64 evaluating rule: has(self.m.x)"),
        ("has(self.m) && has(self.n) && self.l.size() == 2 && self.n == 5.0", ""),
        ("self.l[1] == 6", ""),
        ("self.l.exists(x, x == 6)", ""),
        ("6 in self.l", ""),
        ("self.l[0] == 5", "invalid data, expected int, got float64 evaluating rule: self.l[0] == 5"),
        ("self.l.all(x, x > 0)", "invalid data, expected int, got float64 evaluating rule: self.l.all(x, x > 0)"),
        ("self.l == [5, 6]", "invalid data, expected int, got float64 evaluating rule: self.l == [5, 6]"),
        ("self.l == self.l", "invalid data, expected int, got float64 evaluating rule: self.l == self.l"),
        ("self.s != self.s", ""),
        ("'x' in self.m", "invalid data, expected int, got float64 evaluating rule: 'x' in self.m"),
        ("7 in self.l", "invalid data, expected int, got float64 evaluating rule: 7 in self.l"),
        ("self.m['x'] == 5", "invalid data, expected int, got float64 evaluating rule: self.m['x'] == 5"),
        ("self.?a.orValue(1) == 5", "invalid data, expected int, got float64 evaluating rule: self.?a.orValue(1) == 5"),
        (
            "string(self.e) == '5'",
            "invalid data, expected XIntOrString value to be either a string or integer evaluating rule: string(self.e) == '5'",
        ),
    ],
)
def test_whole_floats(rule: str, expected: str) -> None:
    """Fail where an expression reads a float in the place of an integer, which the schema itself permits."""
    either = {"x-kubernetes-int-or-string": True}
    integers, keyed = numbers(5), {"type": "object", "additionalProperties": INTEGER}
    members = struct(a=INTEGER, n={"type": "number"}, l=integers, s=integers | {"x-kubernetes-list-type": "set"}, m=keyed, e=either)
    schema, obj = CompiledSchema(ruled(members, rule)), {"a": 5.0, "n": 5, "l": [5.0, 6], "s": [5.0], "m": {"x": 5.0}, "e": 5.0}

    assert not schema.is_valid(obj)
    assert schema.validate_values(obj) == []
    errors = texts(schema.validate_rules(obj, is_valid=False))
    assert errors == ([f'<nil>: Invalid value: "object": {expected}'] if expected else [])


def test_messages_about_optional_old_values() -> None:
    """Give a message the plain old value, although the rule sees an optional one."""
    plain = {
        "rule": "!oldSelf.hasValue()",
        "optionalOldSelf": True,
        "message": "m",
        "messageExpression": "type(dyn(oldSelf)) == string ? 'plain' : 'optional'",
    }
    schema = ruled({"type": "string"}, plain, plain | {"messageExpression": "oldSelf.value()"})

    assert broken(schema, "new", "old") == ['<nil>: Invalid value: "new": plain', '<nil>: Invalid value: "new": m']


@pytest.mark.parametrize("value", ["quantity('1')", "ip('1.2.3.4')", "cidr('1.2.3.0/24')", "semver('1.2.3')", "url('http://a')"])
def test_equality_of_values_of_different_types(value: str) -> None:
    """Fail if an opaque value on the left is compared with a value of another type."""
    failing, *holding = f"dyn({value}) == 1", f"dyn({value}) != 1", f"!(1 == dyn({value}))", f"dyn({value}) in [dyn(1), dyn({value})]"

    error = "'no such overload': call arguments did not match a supported operator, function or macro signature for rule"

    assert broken(ruled({"type": "string"}, failing, *holding), "x") == [f'<nil>: Invalid value: "string": {error}: {failing}']


def test_keys_of_unknown_types() -> None:
    """Fail if an object or map of a custom resource is asked for a key that is no text."""
    schema = struct(m={"type": "object", "additionalProperties": INTEGER})

    assert "'no such overload'" in broken(ruled(schema, "dyn(self.m)[1] == 1"), {"m": {"x": 1}})[0]


@pytest.mark.parametrize("value", [None, 1, 1.5, "x", True, [], {}, [1], ["a", None], {"a": 1}, [{"name": 3}], [[]]], ids=str)
def test_values_of_other_types(value: Any) -> None:
    """Survive values of types that the schema does not permit: old ones, and those of objects whose kind is wrong."""
    named = {
        "type": "array",
        "items": struct(name={"type": "string"}),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    time: Schema = {"type": "string", "format": "date-time"}
    rules = (
        "self.l.all(x, x.name == 'a')",
        "self.l[0].name == 'b'",
        "self.m.all(k, self.m[k] == k)",
        "size(self.m) > 1",
        "self.l == oldSelf.l",
    )
    members: dict[str, Schema] = {"l": named, "m": {"type": "object", "additionalProperties": {"type": "string"}}, "t": time}
    schema = CompiledSchema(struct(s=ruled(struct(**members), *rules, "self.t > timestamp('2020-01-01T00:00:00Z')")))

    changes: list[tuple[Any, Any]] = [
        ({"l": value}, {"l": []}),
        ({"l": []}, {"l": value}),
        ({"m": value}, {}),
        ({"t": value}, {}),
        (value, value),
    ]

    for new, old in changes:
        assert schema.validate_rules({"s": new}, {"s": old}, is_valid=False).left > 0


@pytest.mark.parametrize(
    "old, expected",
    [
        (3, []),
        ("x", ['a: Invalid value: "integer": invalid data, expected int, got string evaluating rule: self == oldSelf']),
        (True, ['a: Invalid value: "integer": invalid data, expected int, got bool evaluating rule: self == oldSelf']),
        ([], ['a: Invalid value: "integer": invalid data, expected int, got []interface {} evaluating rule: self == oldSelf']),
    ],
    ids=str,
)
def test_old_values_of_other_types(old: Any, expected: list[str]) -> None:
    """Fail only where a rule needs an old value that was written before the schema got another type."""
    schema = struct(a=ruled(INTEGER, "self == oldSelf", "self > 0 || oldSelf > 0"))

    assert broken(schema, {"a": 3}, {"a": old}) == expected


def test_old_lists_in_the_place_of_formatted_texts() -> None:
    """Do not take a list for a text, although the keyword type permits it beside a format."""
    schema = struct(a=ruled({"type": "string", "format": "duration"}, "self == oldSelf"))

    (error,) = broken(schema, {"a": "1h"}, {"a": []})

    assert "invalid data, expected string, got []interface {}" in error


def test_errors_of_elements() -> None:
    """Compare lists from their first elements on."""
    schema = struct(a=ruled(numbers(3), "oldSelf == self"))

    assert "got string" in broken(schema, {"a": [1, 2, 3]}, {"a": [1, "b", True]})[0]


@pytest.mark.parametrize(
    "form, text, message",
    [
        ("date-time", "old", "date-time formatted string old"),
        ("date-time", "2020-02-30T00:00:00", "date-time formatted string 2020-02-30T00:00:00"),
        ("date-time", "2020-01-01T00:00:00+0100", "date-time formatted string 2020-01-01T00:00:00+0100"),
        ("date", "2020-13-01", "Invalid date formatted string 2020-13-01"),
        ("byte", "old", "Invalid byte formatted string old: illegal base64 data"),
    ],
)  # fmt: skip
def test_old_texts_without_the_format(form: str, text: str, message: str) -> None:
    """Name the fault of an old text that has not got the schema's format, and the text."""
    schema = struct(a=ruled({"type": "string", "format": form}, "oldSelf == self"))

    assert f"{message} evaluating rule: oldSelf == self" in broken(schema, {"a": ""}, {"a": text})[0]


@pytest.mark.parametrize("text", ["", "YWJj", "YQ==", "YWJ=", "a-b_"])
def test_base64(text: str) -> None:
    """Read base64 of the alphabet for URLs."""
    schema = struct(a=ruled({"type": "string", "format": "byte"}, "size(oldSelf) >= 0"))

    assert broken(schema, {"a": ""}, {"a": text}) == []


def test_absent_optional_fields_of_invalid_objects_are_empty() -> None:
    """Evaluate optional fields as values of invalid objects: an absent one is no null."""
    rule = {"rule": "[self.?ref.?name].all(name, !name.hasValue())"}
    ref = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = CompiledSchema({"type": "object", "properties": {"ref": ref}, "x-kubernetes-validations": [rule]})

    assert schema.validate_rules({"ref": {}}, is_valid=False).errors == []
    assert schema.validate_rules({}, is_valid=False).errors == []
    assert len(schema.validate_rules({"ref": {"name": "a"}}, is_valid=False).errors) == 1
