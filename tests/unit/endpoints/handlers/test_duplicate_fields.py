"""Duplicate fields are found in the reference's places and order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiext.endpoints.handlers.patch import duplicates_in
from apiext.endpoints.serializers import json_decoder
from apiext.meta import patch

AGAIN = b'{"a":1,"b":[{"c":1,"c":2}],"a":2}'


@pytest.mark.parametrize(
    "operations, found",
    [
        (b'[{"op":"add","path":"/spec/x","value":%s}]', ["spec.x.b[0].c", "spec.x.a"]),
        (b'[{"op":"replace","path":"/spec/list/1","value":%s}]', ["spec.list[1].b[0].c", "spec.list[1].a"]),
        (b'[{"op":"add","path":"/spec/list/-","value":%s}]', ["spec.list[2].b[0].c", "spec.list[2].a"]),
        (b'[{"op":"add","path":"/spec/a~1b","value":%s}]', ["spec.a/b.b[0].c", "spec.a/b.a"]),
        (b'[{"op":"add","path":"/spec/x","value":%s},{"op":"remove","path":"/spec/x"}]', []),
        (b'[{"op":"add","path":"/spec/x","value":%s},{"op":"remove","path":"/spec/x/a"}]', []),
        (b'[{"op":"test","path":"/spec/y","value":%s}]', []),
        (b'[{"op":"replace","path":"","value":%s}]', ["b[0].c", "a"]),
    ],
)
def test_finds_fields_in_values_of_a_json_patch(operations: bytes, found: list[str]) -> None:
    """Report duplicate fields of a value at its place in the patched object, unless the value was changed."""
    data = operations % AGAIN
    parsed, _ = patch.parse_json_patch(json.loads(data))
    messages = json_decoder.duplicate_fields(data, parsed)
    document: dict[str, Any] = {"spec": {"list": [1, 2], "y": {"a": 2, "b": [{"c": 2}]}}}

    assert duplicates_in(patch.json_patch(document, parsed), parsed, messages) == [f'duplicate field "{path}"' for path in found]


def test_keeps_the_order_of_the_body() -> None:
    """Report unknown and duplicate fields in the order in which a decoder reads them."""
    data = b'{"a":{"x":1,"x":2,"y":3},"z":{"y":1},"a":1}'
    messages = ['duplicate field "a.x"', 'duplicate field "a"', 'unknown field "z"', 'unknown field "a.y"']

    assert json_decoder.in_body_order(data, messages) == [
        'duplicate field "a.x"',
        'unknown field "a.y"',
        'unknown field "z"',
        'duplicate field "a"',
    ]


def test_orders_a_deep_body() -> None:
    """Order duplicate fields of a deeply nested body."""
    levels = 190
    data = b'{"x":1,"a":' * levels + b"1" + b',"x":1}' * levels
    again = ['duplicate field "x"', f'duplicate field "{"a." * (levels - 1)}x"']

    assert json_decoder.in_body_order(data, again) == again[::-1]


@pytest.mark.parametrize(
    "data, found",
    [
        (b'{"kind":1,"kind":"A"}', ("kind", "number")),
        (b'{"kind":"A","apiVersion" : [1],"kind":{}}', ("apiVersion", "array")),
        (b'{"\\u006bind":true,"kind":"A"}', ("kind", "bool")),
        (b'{"kind":null,"a":{"kind":1},"kind":"A"}', ("", "")),
    ],
)
def test_finds_a_wrong_duplicate_kind(data: bytes, found: tuple[str, str]) -> None:
    """Report the first kind or apiVersion that is no string, at any position."""
    assert json_decoder.mistyped_kind(data) == found
