"""OpenAPI v3 in Protobuf, compared with gnostic's bytes."""

from collections.abc import Callable
from typing import Any

import pytest

from apiext.api.openapi import v2_protobuf, v3_protobuf
from apiext.base.meta.limits import MAX_DEPTH


def _schema(schema: dict[str, Any]) -> bytes:
    """Return the encoded schema without its document."""
    data = v3_protobuf.encode({"components": {"schemas": {"A": schema}}})
    # components, schemas, one entry, its name, schema or reference, the schema
    for skipped in (b"\x2a", b"\x0a", b"\x0a", b"\x0a\x01A\x12", b"\x0a"):
        assert data.startswith(skipped)
        data = data[len(skipped) + 1 :]
    return data


@pytest.mark.parametrize("encode", [v2_protobuf.encode, v3_protobuf.encode])
def test_deep_schemas(encode: Callable[[dict[str, Any]], bytes]) -> None:
    """Encode schemas of MAX_DEPTH levels within Python's default recursion limit."""
    schema: dict[str, Any] = {"description": "bottom"}
    for _ in range(MAX_DEPTH):
        schema = {"items": schema}

    assert b"bottom" in encode({"definitions": {"A": schema}, "components": {"schemas": {"A": schema}}})


@pytest.mark.parametrize(
    "schema,expected",
    [
        ({"type": "object", "nullable": True}, b"\x08\x01\xca\x01\x06object"),
        ({"minimum": 1.5, "maxLength": 3}, b"\x69\0\0\0\0\0\0\xf8\x3f\x78\x03"),
        ({"minLength": 0, "maximum": 0, "title": "", "uniqueItems": False}, b""),
        ({"required": ["", "b"]}, b"\xba\x01\x00\xba\x01\x01b"),
        ({"default": False}, b"\x8a\x02\x02\x10\x00"),
        ({"default": "x"}, b"\x8a\x02\x03\x1a\x01x"),
        ({"default": 0}, b"\x8a\x02\x09\x09" + bytes(8)),
        ({"default": {"a": 1}}, b"\x8a\x02\x00"),
        ({"default": [1]}, b"\x8a\x02\x00"),
        ({"additionalProperties": True}, b"\x82\x02\x02\x10\x01"),
        ({"additionalProperties": {"type": "a"}}, b"\x82\x02\x08\x0a\x06\x0a\x04\xca\x01\x01a"),
        ({"items": {"$ref": "#/x"}}, b"\xf2\x01\x09\x0a\x07\x12\x05\x0a\x03#/x"),
        ({"enum": ["a"]}, b"\xc2\x01\x04\x12\x02a\n"),
        ({"x-a": 1}, b"\xa2\x02\x0b\x0a\x03x-a\x12\x04\x12\x021\n"),
    ],
)
def test_schemas(schema: dict[str, Any], expected: bytes) -> None:
    """Omit zeros except in a oneof, and drop a default that is no scalar."""
    assert _schema(schema) == expected
