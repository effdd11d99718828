"""JSON of the objects that mutations make."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.policies.compiler import APPLY_CONFIGURATION, PolicyCompiler
from apiext.schema.cel.policies.evaluation import MAX_POLICY_COST, Evaluation
from apiext.schema.cel.policies.native_values import configuration_value, operation_value, typed_object
from tests.unit.schema.cel.policies.requests import ALL, inputs, run


def _configuration(source: str) -> Any:
    compiler = PolicyCompiler(composed=True)
    expression = compiler.compile(source, APPLY_CONFIGURATION, ALL)
    outcome = Evaluation(inputs(), compiler.variables, limit=MAX_POLICY_COST).run(expression)
    return configuration_value(outcome.value, expression.root)


def test_what_an_expression_spells_inside_lists_and_maps_has_no_usable_type() -> None:
    """Objects do, and everything from other objects; the rest is JSON that no merge type but that of unknown fields takes."""
    found = _configuration("Object{a: [{'x': 1}], b: [Object.b{c: 1}], d: {'e': [1]}, h: object.spec.items, i: null}")

    assert found == {"a": [{"x": 1}], "b": [{"c": 1}], "d": {"e": [1]}, "h": [1, 2], "i": 0}
    kinds = [type(value).__name__ for value in (found["a"][0], found["b"][0], found["d"], found["d"]["e"], found["h"], found["i"])]
    assert kinds == ["OpaqueMap", "dict", "dict", "OpaqueList", "list", "NullNumber"]


def test_nulls_and_spelled_members_of_loops_have_no_usable_type() -> None:
    """A null is a number wherever it comes from; maps that a loop makes are no JSON, those that it copies are."""
    found = _configuration("Object{a: [1].map(x, {'x': x}), b: [object.spec], c: dyn(null), d: {'e': null}, f: [1].filter(x, x > 0)}")

    kinds = [type(value).__name__ for value in (found["a"][0], found["b"][0], found["c"], found["d"]["e"], found["f"])]
    assert kinds == ["OpaqueMap", "dict", "NullNumber", "NullNumber", "list"]


def test_go_types_are_no_values_of_a_json_patch() -> None:
    """The text names the struct; maps and lists have no name."""
    role = typed_object({"metadata": {"labels": {"a": "b"}}, "spec": {}, "rules": [1]}, "v1", "Role")
    parts = (role, role["metadata"], role["metadata"]["labels"], role["spec"], role["rules"])
    texts = []
    for part in parts:
        with pytest.raises(CelError) as raised:
            operation_value(part)
        texts.append(str(raised.value).removeprefix("type conversion error from ").replace(" to *structpb.Value", ""))

    assert texts == [
        "struct type v1.Role",
        "struct type v1.ObjectMeta",
        "'map(dyn, dyn)' to '*structpb.Value'",
        "struct type v1.RoleSpec",
        "'list(dyn)' to '*structpb.Value'",
    ]


@pytest.mark.parametrize(
    "source, error",
    [
        ("{1: 'a'}", 'map key "1" is of type types.Int, not string'),
        ("double('NaN')", "proto: google.protobuf.Value cannot have NaN"),
        ("quantity('1')", "type conversion error from 'kubernetes.Quantity' to '*structpb.Value'"),
    ],
)
def test_values_without_json(source: str, error: str) -> None:
    """They cannot be values of a JSON patch."""
    with pytest.raises(CelError) as raised:
        operation_value(run(source).value)

    assert str(raised.value) == error
