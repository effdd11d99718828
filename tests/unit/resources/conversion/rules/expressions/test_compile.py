"""Expressions are checked against the schema that they read, and that of the field that they set."""

from typing import Any

import pytest

from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.interface import InvalidConversionError
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import compiled, conversion, converted, fields, items, widget

SPOKE = fields(
    spec=fields(a="integer", s="string", rows=items(items("string")), nested=fields(x="string"), time={"type": "string", "format": "date"})
)
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}


def _errors(value: str, target: Any, *more: Any) -> list[str]:
    rule = {"expression": {"toHub": [{"path": "spec.result", "value": value}]}}
    rules = compiled(conversion(v0=[], v1=[*more, rule]), v1=SPOKE, v2=fields(spec=fields(result=target)))
    texts: list[list[str]] = []
    for _ in range(2):
        try:
            rules.transformation("v1", "v2")
        except InvalidConversionError as error:
            texts.append([str(each) for each in error.errors])
    if not texts:
        return []
    # the second time, the error is remembered
    first, second = texts
    assert first == second
    return first


@pytest.mark.parametrize(
    "value, target, reason",
    [
        ("self.spec.unknown", "string", "compilation failed: ERROR: <input>:1:10: undefined field 'unknown'"),
        ("oldSelf.spec.a", "integer", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'oldSelf'"),
        ("type(self.spec.a) == duration", "boolean", "program instantiation failed: reference to undefined type: duration"),
        ("self.spec.a +", "integer", "compilation failed: ERROR: <input>:1:14: Syntax error"),
        ("self.spec.a", "string", "evaluates to int, but spec.result is of type string"),
        ("self.spec.s", "integer", "evaluates to string, but spec.result is of type integer"),
        ("[self.spec.s]", items("integer"), "evaluates to list(string), but spec.result is of type array"),
        ("self.spec.nested", fields(x="integer"), "evaluates to object, but spec.result is of type object"),
        ("self.spec.nested", MAP, "evaluates to object, but spec.result is of type object"),
        ("{'a': 'x'}", MAP, "evaluates to map(string, string), but spec.result is of type object"),
        ("{1: 2}", MAP, "evaluates to map(int, int), but spec.result is of type object"),
        ("self.spec.a > 1", {"x-kubernetes-int-or-string": True}, "evaluates to bool, but spec.result is of type integer or string"),
        ("optional.of(1.5)", "integer", "evaluates to optional_type(double), but spec.result is of type integer"),
        ("null", "string", "evaluates to null_type, but spec.result is of type string"),
        ("quantity('1')", "string", "evaluates to kubernetes.Quantity, but spec.result is of type string"),
    ],
)
def test_mistakes_are_found(value: str, target: Any, reason: str) -> None:
    """Name the place of an expression that does not compile, or whose result does not fit the field."""
    (error,) = _errors(value, target)

    assert error.startswith("spec.spokes[1].rules[0].expression.toHub[0].value: Invalid value: ")
    assert f": {reason}" in error


@pytest.mark.parametrize(
    "value, target",
    [
        ("self.spec.a", "number"),
        ("self.spec.a", {"x-kubernetes-preserve-unknown-fields": True}),
        ("self.spec.time", "string"),
        ("self.spec.nested", fields(y="string")),
        ("self.spec.nested", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("{'a': 1}", MAP),
        ("{'a': dyn(1), 'b': dyn('x')}", fields(a="integer")),
        ("dyn(1)", "string"),
        ("[]", items("string")),
        ("optional.none()", "string"),
    ],
)
def test_fitting_types_are_accepted(value: str, target: Any) -> None:
    """Accept a result that may be a value of the field."""
    assert _errors(value, target) == []


def test_costs_are_estimated() -> None:
    """Refuse an expression whose estimated cost exceeds the limit of CRD rules."""
    (error,) = _errors("self.spec.rows.all(r, r.all(a, r.all(b, a == b)))", "boolean")

    assert "rules[0].expression.toHub[0].value: Forbidden: estimated expression cost exceeds budget by factor of more than 100x" in error


def test_the_schema_is_that_of_the_field_after_the_rules() -> None:
    """Check the type of a field under the name that later rules give it; a field that no version has is not checked."""
    rename = {"rename": {"path": "spec.early", "to": "result"}}
    rule = {"expression": {"toHub": [{"path": "spec.early", "value": "self.spec.s"}]}}
    rules = compiled(conversion(v1=[rule, rename]), v1=SPOKE, v2=fields(spec=fields(result="integer")))

    with pytest.raises(InvalidConversionError, match=r"evaluates to string, but spec\.early is of type integer"):
        rules.transformation("v1", "v2")
    rules.transformation("v2", "v1")


def test_a_version_without_a_schema_has_the_fields_of_every_resource() -> None:
    """Let expressions read the name of an object whose version has no schema."""
    rule = {"expression": {"toHub": [{"path": "spec.name", "value": "self.metadata.name"}]}}
    schemas = {"v1": CompiledSchema(None, preserve_unknown_fields=True), "v2": CompiledSchema(fields(spec=fields(name="string")))}
    rules = compile_rules(parse_rules(conversion(v1=[rule])), schemas)

    assert converted(rules, widget("v1", {}), "v2")[0] == widget("v2", {"name": "a"})
