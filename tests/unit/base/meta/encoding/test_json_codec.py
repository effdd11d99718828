"""JSON as Go reads and writes it."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "value, text",
    [
        (1.0, b"1"),
        (-0.0, b"-0"),
        (1.5, b"1.5"),
        (1e20, b"100000000000000000000"),
        (1e21, b"1e+21"),
        (1e-6, b"0.000001"),
        (1e-7, b"1e-7"),
        (1.5e-10, b"1.5e-10"),
        (123456789.0, b"123456789"),
        ({"b": 1, "a": 2.0}, b'{"a":2,"b":1}'),
        ("<a&b>", b'"\\u003ca\\u0026b\\u003e"'),
        ("\u2028", b'"\\u2028"'),
    ],
)
def test_writes_go_json(value: object, text: bytes) -> None:
    """Write numbers in Go's form, sorted keys and escaped HTML characters."""
    assert json_codec.dumps(value) == text


@given(JSON)
def test_reads_what_it_writes(value: object) -> None:
    """Read a value as it was written."""
    assert json_codec.loads(json_codec.dumps(value)) == value


@pytest.mark.parametrize("levels", [0, 260])
@given(value=JSON)
def test_typed_numbers(levels: int, value: object) -> None:
    """Keep the types of numbers in typed JSON, which can be turned into the other form."""
    for _ in range(levels):
        value = [value]
    typed = json_codec.dumps(value, typed=True)
    plain = json_codec.dumps(value)

    assert repr(json_codec.loads(typed)) == repr(_sorted(value))
    assert json_codec.untyped(typed) == plain
    assert json_codec.untyped(typed + b"\n") == plain + b"\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=str.encode)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("text, value", [(b"9223372036854775808", 9223372036854775808.0), (b"9223372036854775807", 2**63 - 1)])
def test_integers_beyond_int64_become_floats(text: bytes, value: float) -> None:
    """Read a number beyond int64 as a float."""
    parsed = json_codec.loads(text)

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "text, value",
    [
        (b'["1732191231233333333","9223372036854775808"]', ["1732191231233333333", "9223372036854775808"]),
        (b'{"at":"1732191231233333333","n": -9223372036854775809}', {"at": "1732191231233333333", "n": -9223372036854775809.0}),
        (b'{"\\"9223372036854775808":9223372036854775808}', {'"9223372036854775808': 9223372036854775808.0}),
        (b'["' + b"7" * 50 + b'",9223372036854775808]', ["7" * 50, 9223372036854775808.0]),
    ],
)
def test_digits_in_strings_hide_no_number(text: bytes, value: object) -> None:
    """Keep long digits in strings, and read long numbers beside them as floats."""
    assert repr(json_codec.loads(text)) == repr(value)


def test_replaces_bytes_that_are_not_utf8() -> None:
    """Write U+FFFD for each byte that is not UTF-8, and everything else as without such bytes."""
    value = {"b": [1.0, "é\udcff\udcfe"], "a": "<"}

    assert json_codec.dumps(value) == '{"a":"\\u003c","b":[1,"é\ufffd\ufffd"]}'.encode()
    assert json_codec.dumps(value, typed=True) == '{"a":"\\u003c","b":[1.0,"é\ufffd\ufffd"]}'.encode()


def test_still_refuses_other_values() -> None:
    """Refuse what is no JSON value."""
    with pytest.raises(TypeError):
        json_codec.dumps({"a": object()})


def test_go_numbers_in_messages() -> None:
    """Use the exponent form below one earlier than JSON does."""
    assert formatting.number(1e-5) == "1e-05"
    assert formatting.number(0.0001) == "0.0001"
    assert formatting.number(math.inf) == "+Inf"


def test_quotes_like_go() -> None:
    """Escape quotes, control characters, unprintable characters and bytes that are not UTF-8."""
    assert formatting.quote('a"\n\x01\u200b\udcff') == '"a\\"\\n\\x01\\u200b\\xff"'


@pytest.mark.parametrize("levels", [1, 70, 200, 250, 300, 800])
def test_writes_numbers_as_go_at_any_depth(levels: int) -> None:
    """Write numbers as Go does at any depth of a stored object, also where orjson refuses to."""
    value: object = [1.0, 1e-7, "x" * 5000, 1e21]
    for _ in range(levels):
        value = [value]

    assert json_codec.dumps(value) == b"[" * levels + b'[1,1e-7,"%b",1e+21]' % (b"x" * 5000) + b"]" * levels


@pytest.mark.parametrize("number", [b"-0", b"1e+21", b"1e-7", b"-1.5e-10", b"100000000000000000000", b"9223372036854775807", b"0", b"1.5"])
def test_indents_numbers_as_they_are_spelled(number: bytes) -> None:
    """Python has no integer -0, and other forms of large and small numbers."""
    data = b'{"a":[%b,"x:-0,\\"1e+21,"],"b":%b}' % (number, number)

    assert json_codec.pretty(data) == b'{\n  "a": [\n    %b,\n    "x:-0,\\"1e+21,"\n  ],\n  "b": %b\n}' % (number, number)
