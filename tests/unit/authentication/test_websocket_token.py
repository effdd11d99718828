"""Tokens among the protocols of a WebSocket."""

import pytest

from apiext.authentication.websocket_token import ProtocolError, bearer_of

PREFIX = "base64url.bearer.authorization.k8s.io."


@pytest.mark.parametrize(
    "headers,found",
    [
        ([], ("", "")),
        (["a, b"], ("", "a,b")),
        ([f"{PREFIX}c2VjcmV0, a"], ("secret", "a")),
        (["a", f"b,{PREFIX}c2VjcmV0"], ("secret", "a,b")),
        ([f"{PREFIX}w78_", "a"], ("ÿ?", "a")),
        ([PREFIX], ("", "")),
        ([f"{PREFIX.upper()}c2VjcmV0"], ("", f"{PREFIX.upper()}c2VjcmV0")),
    ],
)
def test_tokens(headers: list[str], found: tuple[str, str]) -> None:
    """A token is taken out of the protocols, wherever it stands."""
    assert bearer_of(headers) == found


@pytest.mark.parametrize(
    "header,why",
    [
        (f"{PREFIX}c2VjcmV0", "missing additional subprotocol"),
        (f"{PREFIX}c2VjcmV0,{PREFIX}c2VjcmV0,a", "multiple"),
        (f"{PREFIX}c2VjcmV0==,a", "encoding"),
        (f"{PREFIX}c2Vjc,a", "encoding"),
        (f"{PREFIX}a+b/,a", "encoding"),
        (f"{PREFIX}____,a", "invalid base64.bearer.authorization token$"),
    ],
)
def test_what_cannot_be_told(header: str, why: str) -> None:
    """It is refused."""
    with pytest.raises(ProtocolError, match=why):
        bearer_of([header])
