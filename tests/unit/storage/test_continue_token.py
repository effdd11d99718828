"""Continue tokens in the reference's form."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.errors import StatusError
from apiext.storage import continue_token

NO_TOKEN = "it is not the token of a list"
NO_REVISION = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"


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
        *((text, NO_TOKEN) for text in ("!!", "a", "a=b", "ab\n\rc!", "YWJj", token("{"), token("{} x"), token('{"rv":NaN}'), "\ud800")),
        *((token(document), "server does not recognize this encoded version None") for document in ("[]", "true", "{}", "null")),
        (token('{"v":"x"}'), "server does not recognize this encoded version x"),
        (token('{"v":"meta.k8s.io/v1"}'), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (token('{"v":"meta.k8s.io/v1","rv":1}'), "encoded start key empty (version meta.k8s.io/v1)"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}'), "../a"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"//a"}'), "//a"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a/./b"}'), "a/./b"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a/"}'), "a/"),
        *((token(text), NO_TOKEN) for text in ("[" * 20_000, '{"rv":' + "9" * 5000 + "}", '{"a":' * 5000 + "1" + "}" * 5000)),
        *((token(f'{{"v":"meta.k8s.io/v1","rv":{number}}}'), NO_REVISION) for number in ('"1"', "1.5", "true", "1e2", 2**63)),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":["a"]}'), "encoded start key empty (version meta.k8s.io/v1)"),
    ],
)
def test_rejects_invalid_tokens(text: str, message: str) -> None:
    """Reject an invalid token with 400."""
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
