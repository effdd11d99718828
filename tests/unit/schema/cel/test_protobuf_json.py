"""Protobuf's messages for JSON in expressions; tests/differential has more of them."""

from typing import Any, Final

import pytest

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.program import CostMeter
from apiext.schema.cel.values import EmptyMessage
from tests.support.cel_values import program

SCHEMA: Final = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}}
PACKAGE: Final = "google.protobuf."


@pytest.mark.parametrize(
    "message, value",
    [
        ("Struct{fields: {'a': dyn(1), 'b': dyn([true, false]), 'c': dyn(null)}}", {"a": 1.0, "b": [True, False], "c": None}),
        ("Struct{fields: {'a': dyn(9007199254740992), 'b': dyn(b'ab'), 'c': dyn('x')}}", {"a": "9007199254740992", "b": "YWI=", "c": "x"}),
        ("Struct{fields: {'a': duration('1.5s')}}", {"a": "1.5s"}),
        ("Struct{fields: {'a': timestamp('2020-01-01T00:00:00Z')}}", {"a": "2020-01-01T00:00:00Z"}),
        ("Struct{}", {}),
        ("ListValue{values: self.l}", [1.0, 2.0]),
        ("ListValue{values: [{'a': optional.of(1u)}]}", [{"a": 1.0}]),
        ("Value{}", None),
        ("Value{null_value: 0}", None),
        ("Value{list_value: [1]}", [1.0]),
        ("Value{list_value: self.l + [3]}", [1.0, 2.0, 3.0]),
        ("Struct{fields: {'a': google.protobuf.Empty{}}}", {"a": {}}),
        ("Empty{}", EmptyMessage()),
        ("NullValue.NULL_VALUE", 0),
    ],
)
def test_values(message: str, value: object) -> None:
    """Turn values into JSON's, with and without counting costs."""
    compiled = program(PACKAGE + message, SCHEMA)
    made: Any = {"l": [1, 2]}

    assert repr(compiled.evaluate(made, None)) == repr(value)
    assert repr(compiled.evaluate_counted(made, None, meter=CostMeter(1000))) == repr(value)


@pytest.mark.parametrize(
    "message, error",
    [
        (
            "Struct{fields: dyn({1: 2})}",
            "field type conversion error for google.protobuf.Struct.fields value type: type conversion error from",
        ),
        ("Struct{fields: dyn([])}", "unsupported field type for google.protobuf.Struct.fields: list(dyn)"),
        ("ListValue{values: [optional.none()]}", "optional.none() dereference"),
        ("ListValue{values: [quantity('1')]}", "type conversion error from 'kubernetes.Quantity' to '*structpb.Value'"),
        ("Value{list_value: self.l}", "type conversion error from 'list' to '*structpb.ListValue'"),
        ("Value{list_value: [self.l]}", "type conversion error from 'list' to '*structpb.Value'"),
        ("Value{list_value: dyn({'a_b': 1})}", "type conversion error from 'map' to '*structpb.ListValue'"),
        ("Value{struct_value: dyn(self)}", "type conversion error from 'map' to '*structpb.Struct'"),
        ("Int64Value{value: dyn(google.protobuf.Empty{})}", "type conversion error from 'google.protobuf.Empty' to 'int64'"),
        ("Empty{} == dyn(1) || dyn(google.protobuf.Empty{}).a", "no such field 'a'"),
        ("Any{}", "unsupported conversion to ref.Val: (*dynamicpb.Message)"),
        ("Any{type_url: 'x'}", 'unsupported conversion to ref.Val: (*dynamicpb.Message)type_url:"x"'),
        ("Value{null_value: 5000000000}", "field type conversion error for google.protobuf.Value.null_value value type: integer overflow"),
    ],
)
def test_refuses(message: str, error: str) -> None:
    """Fail for values without such a form."""
    with pytest.raises(CelError) as refused:
        program(PACKAGE + message, SCHEMA).evaluate({"l": []}, None)

    assert error in str(refused.value)
