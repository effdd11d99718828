"""JSON is read and written as Go does it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.meta import go_format, json_codec

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
def test_dumps(value: object, text: bytes) -> None:
    """Numbers have Go's form, keys are sorted and HTML characters escaped."""
    assert json_codec.dumps(value) == text


@given(JSON)
def test_round_trip(value: object) -> None:
    """What is written reads back equal."""
    assert json_codec.loads(json_codec.dumps(value)) == value


@pytest.mark.parametrize("text, value", [(b"9223372036854775808", 9223372036854775808.0), (b"9223372036854775807", 2**63 - 1)])
def test_integers_beyond_int64_are_floats(text: bytes, value: float) -> None:
    """A number that int64 cannot hold is a float."""
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
def test_digits_of_texts_hide_no_number(text: bytes, value: object) -> None:
    """Long digits in a text stay as they are, and a number too large is a float wherever it stands among them."""
    assert repr(json_codec.loads(text)) == repr(value)


def test_go_numbers_of_messages() -> None:
    """%v turns to exponents earlier than JSON does below one."""
    assert go_format.number(1e-5) == "1e-05"
    assert go_format.number(0.0001) == "0.0001"
    assert go_format.number(math.inf) == "+Inf"


def test_quote() -> None:
    """%q escapes quotes, control characters and what is not printable."""
    assert go_format.quote('a"\n\x01\u200b') == '"a\\"\\n\\x01\\u200b"'


@pytest.mark.parametrize("levels", [1, 70, 200, 250, 300, 3000])
def test_odd_numbers_far_below(levels: int) -> None:
    """They are written as Go does wherever they stand, and whatever is written around them."""
    value: object = [1.0, 1e-7, "x" * 5000, 1e21]
    for _ in range(levels):
        value = [value]

    assert json_codec.dumps(value) == b"[" * levels + b'[1,1e-7,"%b",1e+21]' % (b"x" * 5000) + b"]" * levels
