"""JSON of the objects that mutations make."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.policies.compiler import APPLY_CONFIGURATION, PolicyCompiler
from apiext.schema.cel.policies.evaluation import MAX_POLICY_COST, Evaluation
from apiext.schema.cel.policies.native_values import configuration_value, operation_value
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
