"""Syntax errors of JSON, the common ones in Go's words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.encoding.json_syntax import EXCEEDED_DEPTH, syntax_error

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    "data, error",
    [
        (b"", END),
        (b"  ", END),
        (b"{", END),
        (b'{"a"', END),
        (b'{"a":', END),
        (b'{"a":1,', END),
        (b'"abc', END),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"[1 2]", "invalid character '2' after a value"),
        (b"[1}", "invalid character '}' after a value"),
        (b"-a", "invalid character '-' looking for beginning of value"),
        (b'"\\x"', "Invalid \\escape: line 1 column 2 (char 1)"),
        (b"{,}", "invalid character ',' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', r"invalid character '\"' after a value"),
        (b'{"a":1]', "invalid character ']' after a value"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"1.5.2", "invalid character '.' after top-level value"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b"'", "invalid character ''' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character '\u00ef' looking for beginning of value"),
        (b"1e5.5", "invalid character '.' after top-level value"),
        (b"[" * 201, EXCEEDED_DEPTH),
        (b'{"a":' * 201, EXCEEDED_DEPTH),
    ],
)
def test_returns_the_first_error(data: bytes, error: str) -> None:
    """Report the first wrong byte and what was expected there."""
    assert syntax_error(data) == error


@pytest.mark.parametrize("data", [b'"\xff"', b'"\\ud800"', b"[[],[{}],{}]", b' {"a" : [ 1 , -0.5e+3, true,false,null ] } '])
def test_tolerates_what_go_tolerates(data: bytes) -> None:
    """Accept invalid UTF-8 and lone surrogates, which Go replaces."""
    assert syntax_error(data) == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON)
def test_accepts_all_json(value: object) -> None:
    """Accept all JSON, and reject every beginning of an object or array."""
    data = json.dumps(value).encode()

    assert syntax_error(data) == ""
    if isinstance(value, dict | list):
        assert syntax_error(data[:-1]) == END


@given(st.binary(max_size=60))
def test_agrees_with_another_parser(data: bytes) -> None:
    """Reject exactly the data that another strict parser rejects, apart from invalid UTF-8."""

    def refuse(text: str) -> object:
        raise ValueError(text)

    try:
        json.loads(data.decode("utf-8", "surrogateescape").removeprefix("\ufeff"), parse_constant=refuse)
        valid = not data.startswith(b"\xef\xbb\xbf")
    except ValueError:
        valid = False

    assert (syntax_error(data) == "") is valid
