"""The nodes of an expression that made lists and maps."""

from typing import Any

import pytest

from apiext.schema.cel.ast import Expression, ListLiteral, MapLiteral, Select
from apiext.schema.cel.policies.compiler import APPLY_CONFIGURATION, PolicyCompiler
from apiext.schema.cel.policies.native_values import member_origin, origin
from tests.unit.schema.cel.policies.requests import ALL


def _field(source: str) -> Expression:
    """Return the node of an expression that is the value of a field."""
    root: Any = PolicyCompiler(composed=True).compile(f"Object{{a: {source}}}", APPLY_CONFIGURATION, ALL).root
    node: Expression = root.fields[0].value
    return node


@pytest.mark.parametrize(
    "source, value",
    [
        ("object.spec.items", [1, 2]),
        ("object.spec.items + [{'a': 1}]", [1, 2, {"a": 1}]),
        ("object.spec.items.all(i, i > 0)", True),
        ("object.spec.flag ? object.spec.items : ['a', 'b']", [1]),
    ],
)
def test_values_of_objects_and_functions_have_none(source: str, value: Any) -> None:
    """A list of an object, a sum of lists and a boolean are made by no literal."""
    assert origin(_field(source), value) is None


@pytest.mark.parametrize(
    "source, value, kind",
    [
        ("[{'a': 1}]", [{"a": 1}], MapLiteral),
        ("[object.spec.items]", [[1]], Select),
        ("dyn({'a': [1]})", {"a": [1]}, ListLiteral),
        ("object.spec.flag ? [{'a': 1}] : []", [{"a": 1}], MapLiteral),
        ("object.spec.items.map(i, {'a': i})", [{"a": 1}], MapLiteral),
        ("object.spec.items.map(i, i > 0, [i])", [[1]], ListLiteral),
        ("object.spec.fields.transformMap(k, v, {'a': v})", {"a": {"a": 1}}, MapLiteral),
    ],
)
def test_members_of_literals_and_loops(source: str, value: Any, kind: type[Expression]) -> None:
    """The members of a literal and of what a loop collects have their nodes."""
    made = origin(_field(source), value)

    assert made is not None
    assert isinstance(member_origin(made, next(iter(value)) if isinstance(value, dict) else 0), kind)


def test_members_of_unknown_places_have_none() -> None:
    """An optional element may be absent, so that places are unknown; so is a key that is no literal."""
    optional, computed = _field("[?object.spec.?a, object.spec]"), _field("{object.spec.name: {'b': 1}}")

    assert [member_origin(optional, 0), member_origin(computed, "x")] == [None, None]
