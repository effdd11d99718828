"""JSON bodies as Go decodes them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.encoding.json_decoder import (
    BodyDecodeError,
    DepthError,
    duplicate_fields,
    parse,
    parse_unique,
)
from apiext.base.meta.limits import MAX_DEPTH


def test_replaces_invalid_text() -> None:
    """Replace each byte of invalid UTF-8 and each lone surrogate by U+FFFD, and keep pairs of surrogates."""
    assert parse(b'{"a":"\xff\xfe"}') == {"a": "\ufffd\ufffd"}
    assert parse(b'["\\ud800 x", "\\ud83d\\ude00", "\xff"]') == ["\ufffd x", "\U0001f600", "\ufffd"]
    assert parse(b'{"\xff":123456789012345678901234567890}') == {"\ufffd": 1.2345678901234568e29}


@pytest.mark.parametrize("data", [b"{", b"NaN", b"[1,]", b'"\xff', b"\xef\xbb\xbf{}"])
def test_rejects_malformed_json(data: bytes) -> None:
    """Raise the error of Go's parser for data that is not JSON."""
    with pytest.raises(BodyDecodeError, match=r"unexpected end of JSON input|invalid character"):
        parse(data)


@pytest.mark.parametrize("data", [b'{"a":1e400}', b"-1E+999", b'{"\xff":1e400}'])
def test_rejects_numbers_beyond_float64(data: bytes) -> None:
    """Refuse a number beyond float64; the same digits in a string are no number."""
    with pytest.raises(BodyDecodeError, match="json: cannot unmarshal a number beyond float64"):
        parse(data)

    assert parse(b'{"a":"1e400"}') == {"a": "1e400"}


def test_rejects_deeper_bodies() -> None:
    """Raise DepthError for more than MAX_DEPTH levels, also in bodies that only the tolerant parser reads."""
    for text in (b"", b'"\xff",'):
        data = b"[" * (MAX_DEPTH - 1) + b"[" + text + b"1]" + b"]" * (MAX_DEPTH - 1)
        assert parse(data)
        with pytest.raises(DepthError, match="nested deeper than 200 levels"):
            parse(b"[" + data + b"]")


@pytest.mark.parametrize("levels", [1, MAX_DEPTH - 1])
def test_finds_duplicates_at_any_depth(levels: int) -> None:
    """Report a duplicate field at any depth."""
    data = b'{"a":' * levels + b'{"x":1,"x":2}' + b"}" * levels

    assert duplicate_fields(data, parse(data)) == [f'duplicate field "{"a." * levels}x"']


@pytest.mark.parametrize(
    "data, found",
    [
        (b'{"a":1,"b":{"c":1}}', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":1}\n ', []),
        (b'{"a":{"b":1},"a":{"b":1}}\n', ["a"]),
        (b'{"a" :1, "a"\n:2}', ["a"]),
        (b'{"a" :1,"b":1,"b":2}', ["b"]),
        (b'{"a\\u0022:":1,"a\\u0022:":2}', ['a\\":']),
        (b'{"s":"\\":\\":","t":"x"}', []),
        (b'{"a":"\\u003a","b":1,"b":2}', ["b"]),
        (b'{"a":"\\u003A","b":1}', []),
        (
            b'{"spec":{"r":1,"r":2,"any":{"a":1,"a":2}},"spec":{"l":[{"a":1,"a":1,"a":1}]}}',
            ["spec.r", "spec.any.a", "spec", "spec.l[0].a"],
        ),
    ],
)
def test_reports_duplicate_fields_once(data: bytes, found: list[str]) -> None:
    """Report each duplicate field once, by its path, in the order of the document."""
    assert duplicate_fields(data, parse(data)) == [f'duplicate field "{path}"' for path in found]


def test_reports_at_most_a_hundred_duplicates() -> None:
    """Stop after a hundred duplicate fields."""
    data = b"{" + b",".join(b'"k%d":1,"k%d":2' % (number, number) for number in range(500)) + b"}"

    assert len(duplicate_fields(data, parse(data))) == 100


_PAIRS = st.lists(st.tuples(st.sampled_from(["a", "b", 'q":', "\u00e9"]), st.integers(0, 5) | st.just({"x": 1})), max_size=5)


@given(_PAIRS, st.sampled_from([(",", ":"), (", ", ": "), (",", " : ")]))
def test_finds_every_duplicate(pairs: list[tuple[str, object]], separators: tuple[str, str]) -> None:
    """Find every duplicate although the quick check comes first."""
    comma, colon = separators
    members = [json.dumps(key) + colon + json.dumps(value) for key, value in pairs]
    data = ("{" + comma.join(members) + "}").encode()

    assert bool(duplicate_fields(data, parse(data))) is (len({key for key, _ in pairs}) < len(pairs))
    assert parse_unique(data)[1] is (len({key for key, _ in pairs}) == len(pairs))


_VALUES = st.recursive(
    st.integers(-(2**64), 2**65) | st.sampled_from([2**53, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 1.0, 1e300, None, True]) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=8,
)


@given(_VALUES)
def test_parses_numbers_alike(value: object) -> None:
    """Parse integers of any size as `parse` does."""
    data = json.dumps(value).encode()
    parsed = parse(data)

    assert repr(parse_unique(data)[0]) == repr(parsed)


@pytest.mark.parametrize("data", [b"[" * 201 + b"]" * 201, b"[" * 300 + b"]" * 300, b"[1e400]", b"{", b'"\xff', b'{"a":1,}'])
def test_refuses_bodies_alike(data: bytes) -> None:
    """Raise the error of `parse`."""
    with pytest.raises(BodyDecodeError) as expected:
        parse(data)
    with pytest.raises(BodyDecodeError) as raised:
        parse_unique(data)

    assert (type(raised.value), str(raised.value)) == (type(expected.value), str(expected.value))


def test_limits_the_paths_of_duplicates() -> None:
    """Report fewer duplicate fields if their paths are long."""
    data = b'{"%b":{%b}}' % (b"k" * 1_000_000, b",".join(b'"%d":1,"%d":1' % (number, number) for number in range(50)))

    assert 1 < len(duplicate_fields(data, parse(data))) < 10
