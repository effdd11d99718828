"""JSON bodies as Go reads them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.endpoints.serializers.json_decoder import GREATEST, DecodeError, NumberError, duplicate_fields, parse


def test_replaces_what_is_no_text() -> None:
    """Each byte of invalid UTF-8, and each lone surrogate, becomes U+FFFD; pairs of surrogates stay what they are."""
    assert parse(b'{"a":"\xff\xfe"}') == {"a": "\ufffd\ufffd"}
    assert parse(b'["\\ud800 x", "\\ud83d\\ude00", "\xff"]') == ["\ufffd x", "\U0001f600", "\ufffd"]
    assert parse(b'{"\xff":123456789012345678901234567890}') == {"\ufffd": 1.2345678901234568e29}


@pytest.mark.parametrize("data", [b"{", b"NaN", b"[1,]", b'"\xff', b"\xef\xbb\xbf{}"])
def test_refuses_what_is_no_json(data: bytes) -> None:
    """The error is that of Go's parser."""
    with pytest.raises(DecodeError, match=r"unexpected end of JSON input|invalid character"):
        parse(data)


@pytest.mark.parametrize("data", [b'{"a":1e400}', b"-1E+999", b'{"\xff":1e400}'])
def test_refuses_numbers_beyond_float64(data: bytes) -> None:
    """A number that no float64 can hold is told as it stands; the same digits in a text are none."""
    with pytest.raises(NumberError, match=r"json: cannot unmarshal number \S+ into Go value of type float64"):
        parse(data)

    assert parse(b'{"a":"1e400"}') == {"a": "1e400"}


def test_depth_is_limited() -> None:
    """Go's limit is ours; texts that need care change nothing about it."""
    for text in (b"", b'"\xff",', b"1e400,"):
        data = b"[" * 9_999 + b"[" + text + b"1]" + b"]" * 9_999
        if text == b"1e400,":
            with pytest.raises(NumberError):
                parse(data)
        else:
            assert parse(data)
        with pytest.raises(DecodeError, match=r"invalid character '\[' exceeded max depth"):
            parse(b"[" + data + b"]")


def test_what_is_unreadable_is_kept() -> None:
    """A body with a number that nothing holds is known with the greatest number in its place, and the first such number as it stands."""
    with pytest.raises(NumberError) as caught:
        parse(b'{"a":"1e400","kind":"K","b":[-1E999,1e400],"c":"\xff"}')

    assert caught.value.number == "-1E999"
    assert caught.value.value == {"a": "1e400", "kind": "K", "b": [-GREATEST, GREATEST], "c": "\ufffd"}


@pytest.mark.parametrize("levels", [300, 2000])
def test_duplicates_far_below(levels: int) -> None:
    """A field that stands twice is found however deep."""
    data = b'{"a":' * levels + b'{"x":1,"x":2}' + b"}" * levels

    assert duplicate_fields(data, parse(data)) == [f'duplicate field "{"a." * levels}x"']


@pytest.mark.parametrize(
    "data, found",
    [
        (b'{"a":1,"b":{"c":1}}', []),
        (b'{"a":1,"a":2}', ["a"]),
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
def test_duplicate_fields(data: bytes, found: list[str]) -> None:
    """Fields that stand twice are told once, by their path, in the order of the document."""
    assert duplicate_fields(data, parse(data)) == [f'duplicate field "{path}"' for path in found]


def test_at_most_a_hundred_duplicates() -> None:
    """A hostile body does not bring a list without end."""
    data = b"{" + b",".join(b'"k%d":1,"k%d":2' % (number, number) for number in range(500)) + b"}"

    assert len(duplicate_fields(data, parse(data))) == 100


_PAIRS = st.lists(st.tuples(st.sampled_from(["a", "b", 'q":', "\u00e9"]), st.integers(0, 5) | st.just({"x": 1})), max_size=5)


@given(_PAIRS, st.sampled_from([(",", ":"), (", ", ": "), (",", " : ")]))
def test_finds_every_duplicate(pairs: list[tuple[str, object]], separators: tuple[str, str]) -> None:
    """The quick check before the exact one never lets a duplicate pass."""
    comma, colon = separators
    members = [json.dumps(key) + colon + json.dumps(value) for key, value in pairs]
    data = ("{" + comma.join(members) + "}").encode()

    assert bool(duplicate_fields(data, parse(data))) is (len({key for key, _ in pairs}) < len(pairs))
