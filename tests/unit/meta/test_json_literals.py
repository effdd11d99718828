"""How values are spelled in JSON is told apart where the reference does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiext.meta import json_literals, patch
from apiext.meta.errors import StatusError


@pytest.mark.parametrize(
    "value, data",
    [
        ("a", '"a"'),
        ("<&>", '"\\u003c\\u0026\\u003e"'),
        ("\u2028", '"\\u2028"'),
        ("é\t", '"é\\t"'),
        (1, "1"),
        (1.5, "1.5"),
        (100000000.0, "100000000"),
        (1e21, "1e+21"),
        (None, "null"),
        ({"b": [1, {"c": True}], 'a"': "x:"}, '{ "a\\"" : "x:", "b": [1 , {"c":true}]}'),
    ],
)
def test_as_go_writes_it(value: Any, data: str) -> None:
    """Space and the order of members do not count."""
    assert json_literals.is_spelled(value, json_literals.spelled(data.encode()))


@pytest.mark.parametrize(
    "value, data",
    [
        ("é", '"\\u00e9"'),
        ("<", '"<"'),
        ("<", '"\\u003C"'),
        ("/", '"\\/"'),
        (1.5, "1.50"),
        (1, "1e0"),
        (1, "[1]"),
        ([1], "[1,2]"),
        ([1], "1"),
        ({"a": 1}, '{"b":1}'),
        ({"a": 1}, "[]"),
    ],
)
def test_otherwise(value: Any, data: str) -> None:
    """Another spelling of the same value is another literal."""
    assert not json_literals.is_spelled(value, json_literals.spelled(data.encode()))


@pytest.mark.parametrize(
    "data, passes",
    [
        (b'[{"op":"test","path":"/a","value":1.5}]', True),
        (b'[{"op":"test","path":"/a","value":1.50}]', False),
        (b'[{"op":"test","path":"/b"},{"op":"test","path":"","value":{"a":1.5}}]', True),
        (b'[{"op":"test","path":"/b"},{"op":"test","path":"","value":{"a":15e-1}}]', False),
        (b'[{"op":"add","path":"/b","value":1.50},{"op":"test","path":"/b","value":1.50}]', True),
    ],
)
def test_tests_at_the_beginning_of_a_patch(data: bytes, *, passes: bool) -> None:
    """What a patch tests before it changes anything has to be spelled as the server writes it."""
    operations, _ = patch.parse_json_patch(data)
    spelled = patch.spelled_tests(operations, data)
    document = json.loads('{"a":1.5}')
    if passes:
        assert patch.json_patch(document, operations, spelled)["a"] == 1.5
        return
    with pytest.raises(StatusError) as refused:
        patch.json_patch(document, operations, spelled)
    assert refused.value.code == 422


@pytest.mark.parametrize(
    "data", [b'[{"op":"test","path":"/a","value":"x-0.5"}]', b'{"a":1e3}', b'{"a":-0}', b'"\\u0061"', '"é"'.encode(), b'"<"']
)
def test_odd(data: bytes) -> None:
    """Escapes, fractions, exponents, and what Go escapes need a closer look; plain texts and whole numbers do not."""
    assert json_literals.may_be_odd(data)
    assert not json_literals.may_be_odd(b'[{"op":"test","path":"/metadata/resourceVersion","value":"5"},{"value":-17,"a":[null,true]}]')
