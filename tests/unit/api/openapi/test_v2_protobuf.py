"""OpenAPI v2 in Protobuf."""

import struct
from collections import defaultdict
from typing import Any

from apiext.api.openapi import v2_protobuf


def _fields(data: bytes) -> dict[int, list[Any]]:
    """Return the fields of a message by number."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = _varint(data, at)
            found[number].append(value)
        elif wire_type == 1:
            found[number] += struct.unpack_from("<d", data, at)
            at += 8
        else:
            length, at = _varint(data, at)
            found[number].append(data[at : at + length])
            at += length
    return dict(found)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def _definition(schema: dict[str, Any]) -> dict[int, list[Any]]:
    """Return the fields of one encoded schema."""
    document = _fields(v2_protobuf.encode({"definitions": {"x": schema}}))
    named = _fields(_fields(document[9][0])[1][0])
    assert named[1] == [b"x"]
    return _fields(named[2][0])


def test_a_document_names_itself() -> None:
    """Encode version and info in the first fields."""
    document = _fields(v2_protobuf.encode({"swagger": "2.0", "info": {"title": "T", "version": "1.37"}}))

    assert document[1] == [b"2.0"]
    assert _fields(document[2][0]) == {1: [b"T"], 2: [b"1.37"]}


def test_a_schema_of_many_fields() -> None:
    """Encode strings, numbers, booleans, lists, any values and extensions."""
    schema = _definition(
        {
            "type": "object",
            "maximum": 1.5,
            "maxLength": 300,
            "minimum": -1,
            "uniqueItems": True,
            "required": ["a", "b"],
            "enum": ["a", 1],
            "x-kubernetes-list-map-keys": ["k"],
        }
    )

    assert _fields(schema[22][0]) == {1: [b"object"]}
    assert (schema[7], schema[9], schema[11], schema[16], schema[19]) == ([1.5], [-1.0], [300], [1], [b"a", b"b"])
    assert [_fields(value)[2] for value in schema[20]] == [[b"a\n"], [b"1\n"]]
    extension = _fields(schema[31][0])
    assert (extension[1], _fields(extension[2][0])[2]) == ([b"x-kubernetes-list-map-keys"], [b"- k\n"])


def test_schemas_nest() -> None:
    """Encode nested schemas, and boolean additionalProperties."""
    text = {"type": "string"}
    schema = _definition({"properties": {"p": text}, "items": text, "additionalProperties": text})
    flagged = _definition({"additionalProperties": True})

    encoded = _fields(_fields(_fields(schema[25][0])[1][0])[2][0])
    assert _fields(encoded[22][0]) == {1: [b"string"]}
    assert _fields(schema[23][0])[1] == _fields(schema[21][0])[1] == [_fields(_fields(schema[25][0])[1][0])[2][0]]
    assert _fields(flagged[21][0]) == {2: [1]}


def test_a_long_value_has_a_long_length() -> None:
    """Encode a length above 127 in two bytes."""
    assert _definition({"description": "d" * 1000})[4] == [b"d" * 1000]


def test_parameters_by_place() -> None:
    """Encode body, query and path parameters, and references."""
    parameters = [
        {"name": "body", "in": "body", "required": True, "schema": {"$ref": "#/definitions/x"}},
        {"name": "q", "in": "query", "type": "string"},
        {"name": "p", "in": "path", "type": "string", "required": True},
        {"$ref": "#/parameters/x"},
    ]
    document = _fields(v2_protobuf.encode({"paths": {"/a": {"get": {"parameters": parameters}}}}))

    item = _fields(_fields(_fields(document[8][0])[2][0])[2][0])
    body, query, path, reference = (_fields(one) for one in _fields(item[2][0])[8])
    assert _fields(_fields(body[1][0])[1][0])[4] == [1]
    assert list(_fields(_fields(query[1][0])[2][0])) == [3]
    assert list(_fields(_fields(path[1][0])[2][0])) == [4]
    assert _fields(reference[2][0]) == {1: [b"#/parameters/x"]}
