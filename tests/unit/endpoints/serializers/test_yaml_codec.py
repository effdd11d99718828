"""YAML bodies and answers as go-yaml has them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.endpoints.serializers.json_decoder import DecodeError
from apiext.endpoints.serializers.yaml_codec import dumps, parse
from apiext.meta.deep import MAX_DEPTH


@pytest.mark.parametrize(
    "text, value",
    [
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("''", ""),
        ("0o17", 15),
        ("017", 15),
        ("08", 8),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-0.0", 0),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("12345678901234567890", 12345678901234567890.0),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("'1'", "1"),
        ("! 1", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1),
        ("!!int '1'", 1),
        ("!custom x", "x"),
        ("!!binary aGVsbG8=", "hello"),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
        ("{1: a, true: b, 1.5: c}", {"1": "a", "true": "b", "1.5": "c"}),
        ("a: 1\n---\nb: 2", {"a": 1}),
        ("", None),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 1}\nd: {<<: *x, c: 2}", {"a": {"b": 1, "c": 1}, "d": {"b": 1, "c": 2}}),
        ("{<<: [{a: 1, b: 1}, {a: 2}]}", {"a": 1, "b": 1}),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Plain scalars are what YAML 1.1 as go-yaml knows it makes of them, turned into JSON; one document counts."""
    parsed, _ = parse(text.encode())

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "text, error",
    [
        (": :", "yaml: did not find expected key"),
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("a: b\nspec: [", "yaml: line 2: did not find expected node content"),
        ("\tkind: x", "yaml: found character that cannot start any token"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        ("{~: n}", "unsupported map key of type: %!s(<nil>), key: <nil>, value: false"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: \x01", "yaml: control characters are not allowed"),
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("!!binary '*'", "yaml: !!binary value contains invalid base64 data"),
        ("{<<: 1}", "yaml: map merge requires map or sequence of maps as the value"),
        ("- " * (MAX_DEPTH + 1), f"yaml: exceeded max depth of {MAX_DEPTH}"),
        ("[" * (MAX_DEPTH + 1), f"yaml: exceeded max depth of {MAX_DEPTH}"),
        ("{a: " * 20_000, f"yaml: exceeded max depth of {MAX_DEPTH}"),
    ],
)
def test_errors(text: str, error: str) -> None:
    """Errors are go-yaml's, with its line numbers."""
    with pytest.raises(DecodeError) as caught:
        parse(text.encode())

    assert str(caught.value) == error


def test_invalid_utf8() -> None:
    """Bytes that are no UTF-8 are an error in YAML."""
    with pytest.raises(DecodeError, match="yaml: invalid leading UTF-8 octet"):
        parse(b"a: \xff")


def test_alias_bombs_are_refused() -> None:
    """A document that grows by its aliases alone is refused before it has grown."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]

    with pytest.raises(DecodeError, match="yaml: document contains excessive aliasing"):
        parse("\n".join(lines).encode())


def test_duplicate_keys() -> None:
    """A strict parser tells the lines of keys that stand twice; the last value counts."""
    value, found = parse(b"a: 1\nb: {c: 1, c: 2}\na: 3\n", strict=True)

    assert value == {"a": 3, "b": {"c": 2}}
    assert found == ['  line 2: key "c" already set in map', '  line 3: key "a" already set in map']
    assert parse(b"a: 1\na: 2\n")[1] == []


def test_written_form() -> None:
    """Texts that YAML would take for something else are in double quotes, long ones folded, many lines literal."""
    value: dict[str, Any] = {
        "b": "2026-11-21T08:44:32Z",
        "a": ["1", "y", "", "x: y", "x\ny\n"],
        "n": None,
        "f": [1.0, 1e21],
        "e": {},
        "u": "\u00fc",
    }

    assert dumps(value).decode() == (
        'a:\n- "1"\n- "y"\n- ""\n- \'x: y\'\n- |\n  x\n  y\nb: "2026-11-21T08:44:32Z"\ne: {}\nf:\n- 1\n- 1e+21\n"n": null\nu: \u00fc\n'
    )


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\x85\ufffe\uffff")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii", categories=["L", "N"])), inner),
    max_leaves=12,
)


@given(_JSON)
def test_round_trip(value: Any) -> None:
    """What is written is read back as it was."""
    parsed, _ = parse(dumps(value))

    assert parsed == value or (isinstance(value, float) and math.isclose(parsed, value))


@given(st.binary(max_size=80))
def test_never_fails_otherwise(data: bytes) -> None:
    """Any bytes are a value or a decode error."""
    try:
        parse(data, strict=True)
    except DecodeError as error:
        assert str(error)  # noqa: PT017 -- both outcomes are right
