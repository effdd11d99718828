"""Bearer tokens in Sec-WebSocket-Protocol headers."""

from pathlib import Path

import pytest

from apiext.api.authentication.bearer_token import TokenFileError, WebSocketTokenError, bearer_token, load_token_file, websocket_token

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
def test_returns_the_token_and_the_rest(headers: list[str], found: tuple[str, str]) -> None:
    """Take the token out of the protocols, at any place of any header."""
    assert websocket_token(headers) == found


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
def test_rejects_invalid_tokens(header: str, why: str) -> None:
    """Raise an error with the reference's reason."""
    with pytest.raises(WebSocketTokenError, match=why):
        websocket_token([header])


def test_reads_users_by_token(tmp_path: Path) -> None:
    """Read token, user, uid and groups of each line; the groups are one quoted column."""
    path = tmp_path / "tokens.csv"
    path.write_text('# comment\n\nt1,ann,1\nt2, bob ,2,"a,b,"\n')

    users = load_token_file(path)

    assert {token: (user.name, user.uid, user.groups) for token, user in users.items()} == {
        "t1": ("ann", "1", ()),
        "t2": ("bob ", "2", ("a", "b")),
    }


@pytest.mark.parametrize(
    "content, problem",
    [("t1,ann\n", "at least the columns"), (",ann,1\n", "the token of user 'ann' is empty"), ("\xff\n", "codec can't decode")],
)
def test_rejects_invalid_files(tmp_path: Path, content: str, problem: str) -> None:
    """Raise an error with the file and the reason."""
    path = tmp_path / "tokens.csv"
    path.write_bytes(content.encode("latin-1"))

    with pytest.raises(TokenFileError, match=problem) as raised:
        load_token_file(path)

    assert str(raised.value).startswith(f"{path}: ")


def test_rejects_a_missing_file(tmp_path: Path) -> None:
    """Raise an error for a missing file."""
    with pytest.raises(TokenFileError, match="No such file or directory"):
        load_token_file(tmp_path / "none")


@pytest.mark.parametrize(
    "header, token",
    [("Bearer x", "x"), ("bearer x", "x"), ("  BEARER x y ", "x"), ("Bearer", ""), ("Bearer  x", ""), ("Basic x", ""), ("", "")],
)
def test_reads_the_bearer_token(header: str, token: str) -> None:
    """Return what follows the first space; a second space hides the token, as in the reference."""
    assert bearer_token(header) == token
