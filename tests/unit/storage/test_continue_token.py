"""Continue tokens in the reference's form. The messages are those of kube-apiserver 1.37.1 for the same tokens."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.meta.errors import StatusError
from apiext.storage import continue_token


def token(document: str) -> str:
    """Return a token with the content."""
    return base64.urlsafe_b64encode(document.encode()).rstrip(b"=").decode()


def test_encodes_as_the_reference_cache() -> None:
    """Write the token of the reference's cache."""
    written = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjM5LCJzdGFydCI6Ii93MVx1MDAwMCJ9"

    assert continue_token.encode("w1\0", 239) == written
    assert continue_token.decode(written) == ("w1\0", 239)


def test_decodes_a_token_without_slash() -> None:
    """Read a token without the leading slash, which the reference's store writes."""
    assert continue_token.decode(token('{"v":"meta.k8s.io/v1","rv":-1,"start":"a/w1\\u0000"}')) == ("a/w1\0", -1)


@pytest.mark.parametrize(
    "text,message",
    [
        ("!!", "illegal base64 data at input byte 0"),
        ("a", "illegal base64 data at input byte 0"),
        ("a=b", "illegal base64 data at input byte 1"),
        ("YQ==", "illegal base64 data at input byte 2"),
        ("ab\n\rc!", "illegal base64 data at input byte 5"),
        ("ab\ncd\ne\n", "illegal base64 data at input byte 7"),
        ("YWJj", "invalid character 'a' looking for beginning of value"),
        (token("'"), r"invalid character '\'' looking for beginning of value"),
        (token("{"), "unexpected end of JSON input"),
        (token("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (token("true"), "json: cannot unmarshal bool into Go value of type storage.continueToken"),
        (token('{"v":1}'), "json: cannot unmarshal number into Go struct field continueToken.v of type string"),
        (token('{"rv":"1"}'), "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"),
        (token('{"rv":1.5}'), "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64"),
        (token('{"rv":true}'), "json: cannot unmarshal bool into Go struct field continueToken.rv of type int64"),
        (
            token('{"rv":99999999999999999999}'),
            "json: cannot unmarshal number 99999999999999999999 into Go struct field continueToken.rv of type int64",
        ),
        (token('{"v":"x"}'), "server does not recognize this encoded version x"),
        (token("{}"), "server does not recognize this encoded version "),
        (token('{"v":"meta.k8s.io/v1"}'), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (token('{"v":"meta.k8s.io/v1","rv":1}'), "encoded start key empty (version meta.k8s.io/v1)"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}'), "../a"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"//a"}'), "//a"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a/./b"}'), "a/./b"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a/"}'), "a/"),
        (token("[" * 300 + "]" * 300), "exceeded max depth"),
        (token("[" * 20_000), "exceeded max depth"),
        (token('{"a":' * 5000 + "1" + "}" * 5000), "exceeded max depth"),
        (token('{"rv":NaN}'), "invalid character 'N' looking for beginning of value"),
        (token("{} x"), "invalid character 'x' after top-level value"),
        (token('{"rv":1e2}'), "json: cannot unmarshal number 1e2 into Go struct field continueToken.rv of type int64"),
        (
            token('{"rv":' + "9" * 5000 + "}"),
            f"json: cannot unmarshal number {'9' * 5000} into Go struct field continueToken.rv of type int64",
        ),
    ],
)
def test_rejects_invalid_tokens(text: str, message: str) -> None:
    """Reject an invalid token with the reference's message."""
    with pytest.raises(StatusError) as caught:
        continue_token.decode(text)

    assert (caught.value.code, caught.value.message) == (400, f"invalid continue token: continue key is not valid: {message}")


@given(st.text(max_size=40))
def test_handles_any_text(text: str) -> None:
    """Return a token or raise a 400 for any text."""
    for tried in (text, token(text)):
        with contextlib.suppress(StatusError):
            assert continue_token.decode(tried).revision


def test_offers_an_inconsistent_token() -> None:
    """Offer a new token in the error about a compacted revision."""
    error = continue_token.ExpiredContinueError("a/x\0")

    assert (error.code, error.reason) == (410, "Expired")
    assert continue_token.decode(error.status()["metadata"]["continue"]) == ("a/x\0", -1)


def test_reads_what_go_reads() -> None:
    """Ignore case and unknown members, and replace lone surrogates."""
    assert continue_token.decode(token('{"V":"meta.k8s.io/v1","RV":7,"Start":"a","x":[{}]}')) == ("a", 7)
    assert continue_token.decode(token('{"v":"meta.k8s.io/v1","rv":7,"start":"a\\ud800"}')) == ("a\ufffd", 7)
