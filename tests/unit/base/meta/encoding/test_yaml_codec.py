"""YAML bodies and responses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.encoding.json_decoder import BodyDecodeError
from apiext.base.meta.encoding.yaml_codec import dumps, parse
from apiext.base.meta.limits import MAX_ALIASED_CHARACTERS, MAX_DEPTH
from tests.support.builders.yaml_texts import TYPED, texts


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
def test_reads_plain_scalars(text: str, value: Any) -> None:
    """Read plain scalars as go-yaml's YAML 1.1 does, as JSON values; ignore further documents."""
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
        ("{~: n}", "unsupported map key of type: %!s(<nil>), key: <nil>"),
        ("{{x}}", 'yaml: invalid map key: {"x":null}'),
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: \x01", "yaml: control characters are not allowed"),
        ("!!int x", "yaml: cannot decode `x` as a !!int"),
        ("!!binary '*'", "yaml: !!binary value contains invalid base64 data"),
        ("{<<: 1}", "yaml: map merge requires map or sequence of maps as the value"),
        ("- " * MAX_DEPTH + "[]", f"nested deeper than {MAX_DEPTH} levels"),
        ("[" * (2 * MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH} levels"),
        ("{a: " * 20_000, f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_returns_go_yaml_errors(text: str, error: str) -> None:
    """Raise go-yaml's error with its line number."""
    with pytest.raises(BodyDecodeError) as caught:
        parse(text.encode())

    assert str(caught.value) == error


def test_rejects_invalid_utf8() -> None:
    """Reject bytes that are not UTF-8."""
    with pytest.raises(BodyDecodeError, match="yaml: invalid leading UTF-8 octet"):
        parse(b"a: \xff")


def test_rejects_alias_bombs() -> None:
    """Reject a document that grows by aliases alone, before it has grown."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]

    with pytest.raises(BodyDecodeError, match="yaml: document contains excessive aliasing"):
        parse("\n".join(lines).encode())


def test_aliases_refer_to_the_latest_anchor() -> None:
    """Resolve an alias to the anchor that began last, also within an older one of that name."""
    assert parse(b"a: &a [&a [1], *a, &b x, *b]\nb: *a") == ({"a": [[1], [1], "x", "x"], "b": [1]}, [])


def test_rejects_long_texts_of_aliases() -> None:
    """Refuse aliases that stand for more characters than a body may have, wherever they are."""
    text = "x" * 10_000
    most = (MAX_ALIASED_CHARACTERS - 200_000) // len(text)
    nested = ["*a"] * 10

    assert len(parse(f"a: &a {text}\nb: [{','.join(['*a'] * most)}]".encode())[0]["b"]) == most
    for document in (
        f"a: &a {text}\nb: [{','.join(['*a'] * 320)}]",
        f"a: &a {text}\nb: &b [{','.join(nested)}]\nc: [{','.join(['*b'] * 32)}]",
        f"a: &a {{k: {text}}}\nb:\n" + "- {<<: *a}\n" * 320,
        f"a: &a {{? {text} : 1}}\nb:\n" + "- *a\n" * 320,
    ):
        with pytest.raises(BodyDecodeError, match="yaml: document contains excessive aliasing"):
            parse(document.encode())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_limits_tag_directives(encoding: str) -> None:
    """Accept a few %TAG directives, and a long text that mentions them; refuse long directives."""
    few = "%TAG !a! tag:yaml.org,2002:\n%TAG !b! x\n--- {a: !a!str 1, b: !b!c 1}"
    text = "a: |\n" + "  %TAG\n" * 1000

    assert parse(few.encode(encoding))[0] == {"a": "1", "b": "1"}
    assert parse(text.encode(encoding))[0] == {"a": "%TAG\n" * 1000}
    for directives in (
        "".join(f"%TAG !a{number}! x\n" for number in range(2000)),
        f"%TAG !a! {'x' * 4000}\n",
        "#\n" * 4000 + "%TAG !a! x\n",
        "#\u2028" * 4000 + "%TAG !a! x\n",
    ):
        with pytest.raises(BodyDecodeError, match="yaml: %TAG directives beyond the first 1024 bytes are not allowed"):
            parse(f"{directives}--- x".encode(encoding))


def test_reports_duplicate_keys() -> None:
    """Report the lines of duplicate keys, and keep the last value."""
    value, found = parse(b"a: 1\nb: {c: 1, c: 2}\na: 3\n")

    assert value == {"a": 3, "b": {"c": 2}}
    assert found == ['  line 2: key "c" already set in map', '  line 3: key "a" already set in map']


def test_writes_block_style() -> None:
    """Write typed-looking strings in double quotes and strings with line breaks as literals, with sorted keys."""
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
    | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=12,
)


@given(_JSON)
def test_reads_what_it_writes(value: Any) -> None:
    """Read the same value from the YAML that is written for it: every string that YAML takes for another type is quoted."""
    parsed, _ = parse(dumps(value))

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("text", TYPED)
def test_quotes_strings_that_look_typed(text: str) -> None:
    """Read a string back as this string, as a value, an item and a key."""
    value = {text: [text, {text: text}]}

    assert parse(dumps(value))[0] == value
    assert parse(dumps(text))[0] == text


@given(st.dictionaries(st.sampled_from(["items", "rows", "kind", "spec"]), _JSON))
def test_writes_lists_in_pieces(value: dict[str, Any]) -> None:
    """Read the same value from YAML whose long lists are written member by member."""
    assert parse(dumps(value))[0] == value


@given(st.binary(max_size=80))
def test_raises_only_decode_errors(data: bytes) -> None:
    """Return a value or raise a decode error for any bytes."""
    try:
        parse(data)
    except BodyDecodeError as error:
        assert str(error)  # noqa: PT017 -- both outcomes are right
