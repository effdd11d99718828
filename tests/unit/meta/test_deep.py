"""JSON values that are nested deeper than recursion goes."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apiext.meta import deep, json_codec
from apiext.meta.patch import deep_copy, merge_patch, same

_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3))


def nested(levels: int, inside: Any = 1) -> Any:
    """Objects and lists in turn."""
    value = inside
    for level in range(levels):
        value = {"a": value, "b": level} if level % 2 else [level, value]
    return value


@example(1.8446744073709552e19, 0)
@given(_VALUES, st.sampled_from([0, 1, 99, 100, 101, 199, 200, 201, 240]))
def test_same_as_the_library(value: Any, levels: int) -> None:
    """Where the library can read and write a value, the same comes of it."""
    value = nested(levels, value)
    data = json_codec.dumps(value)

    assert deep.loads(data) == orjson.loads(data)
    assert deep.equal(deep.copied(value), value)
    assert json.loads(deep.dumps(value, 0, deep.same_type)) == value


@given(st.lists(st.sampled_from(["[", "]", "{", "}", '"a"', '"', ":", ",", "1", "\\", " ", "[" * 120, "]" * 120]), max_size=12))
def test_refuses_what_is_no_json(tokens: list[str]) -> None:
    """Whatever the text, it is read as by everybody or refused."""
    text = "".join(tokens)
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011
            deep.loads(text.encode())
    else:
        assert deep.loads(text.encode()) == expected


def test_ten_thousand_levels() -> None:
    """All that the reference reads is read, written, copied, compared and merged; one level more is refused."""
    value = nested(deep.MAX_DEPTH - 1, {"x": None})
    data = json_codec.dumps(value)
    read = json_codec.loads(data)

    assert deep.depth(read) == deep.MAX_DEPTH
    assert json_codec.dumps(read) == data
    assert same(deep_copy(read), value)
    assert not same(nested(deep.MAX_DEPTH, 2), nested(deep.MAX_DEPTH, 1))
    assert not deep.is_too_deep(value)
    assert deep.is_too_deep([value])
    assert json_codec.dumps(merge_patch({}, {"spec": value})) == b'{"spec":%b}' % data.replace(b'{"x":null}', b"{}")
    with pytest.raises(deep.DepthError):
        json_codec.loads(b"[%b]" % data)


def test_numbers_far_below() -> None:
    """Numbers are read and written as everywhere."""
    data = b"[" * 2000 + b"[1.0,1e2,18446744073709551616,-0.0,1e-7]" + b"]" * 2000

    assert json_codec.dumps(json_codec.loads(data)) == b"[" * 2000 + b"[1,100,18446744073709552000,-0,1e-7]" + b"]" * 2000


def test_many_in_a_deep_place() -> None:
    """However many lists stand where a band would begin, reading and writing takes time in proportion to the text alone."""
    data = b"[" * 1000 + b"[],{}," * 50_000 + b"[]" + b"]" * 1000 + b"\n"

    assert json_codec.dumps(json_codec.loads(b"[" + data + b"]")) == b"[" + data.strip() + b"]"


def test_pretty_is_bounded() -> None:
    """What would grow out of all proportion stays in a line."""
    data = b"[" * 5000 + b"]" * 5000

    assert json_codec.pretty(data) == data
    assert json_codec.pretty(b'{"a":[1]}') == b'{\n  "a": [\n    1\n  ]\n}'
