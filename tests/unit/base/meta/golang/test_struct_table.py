"""Tests of structs written as tables."""

import pytest

from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import Decoder, Int, Pointer, Raw, Slice

INNER = struct("Inner", "1 count! int64")
OUTER = struct("Outer", "TypeMeta, 2 uid types.UID, 1 inner *Inner, raw v1.Raw, 3 names []string", INNER, Raw("v1.Raw"), package="v2")


def test_fields() -> None:
    """Names, numbers and types of a table become fields in its order."""
    assert OUTER.name == "v2.Outer"
    assert [(field.name, field.number) for field in OUTER.by_name.values()] == [
        *(("kind", 0), ("apiVersion", 0), ("uid", 2), ("inner", 1), ("raw", 0), ("names", 3))
    ]
    types = [field.type for field in OUTER.by_name.values()]
    assert (types[2].name, type(types[3]), type(types[4]), type(types[5])) == ("types.UID", Pointer, Raw, Slice)


def test_required() -> None:
    """A field with an exclamation mark is written even if it is empty."""
    assert INNER.canonical({}) == {"count": 0}
    assert OUTER.canonical({"uid": ""}) == {}
    assert isinstance(INNER.by_name["count"].type, Int)


def test_decoding() -> None:
    """A document is checked against the types of the table."""
    decoder = Decoder(report=True)

    assert decoder.run(OUTER, {"kind": "Outer", "inner": {"x": 1}}) == ['unknown field "inner.x"']
    with pytest.raises(ValueError, match=r"json: cannot unmarshal string into Go struct field Inner.inner.count of type int64"):
        decoder.run(OUTER, {"inner": {"count": "1"}})


def test_unknown_type() -> None:
    """A type that is not given is an error."""
    with pytest.raises(KeyError):
        struct("Broken", "1 inner Other")


def test_no_fields() -> None:
    """An empty table is a struct without fields."""
    assert isinstance(struct("Empty", ""), Struct)
    assert struct("Empty", "").by_name == {}
