"""Static tokens."""

from pathlib import Path

import pytest

from apiext.authentication.token_file import TokenFileError, bearer_token, load


def test_users_by_token(tmp_path: Path) -> None:
    """A line is token, user, uid and groups; the groups are one quoted column."""
    path = tmp_path / "tokens.csv"
    path.write_text('# comment\n\nt1,ann,1\nt2, bob ,2,"a,b,"\n')

    users = load(path)

    assert {token: (user.name, user.uid, user.groups) for token, user in users.items()} == {
        "t1": ("ann", "1", ()),
        "t2": ("bob ", "2", ("a", "b")),
    }


@pytest.mark.parametrize(
    "content, problem",
    [("t1,ann\n", "at least the columns"), (",ann,1\n", "the token of user 'ann' is empty"), ("\xff\n", "codec can't decode")],
)
def test_broken_files(tmp_path: Path, content: str, problem: str) -> None:
    """A file that cannot be used is told in one line with its name."""
    path = tmp_path / "tokens.csv"
    path.write_bytes(content.encode("latin-1"))

    with pytest.raises(TokenFileError, match=problem) as raised:
        load(path)

    assert str(raised.value).startswith(f"{path}: ")


def test_missing_file(tmp_path: Path) -> None:
    """So is one that is not there."""
    with pytest.raises(TokenFileError, match="No such file or directory"):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    "header, token",
    [("Bearer x", "x"), ("bearer x", "x"), ("  BEARER x y ", "x"), ("Bearer", ""), ("Bearer  x", ""), ("Basic x", ""), ("", "")],
)
def test_bearer_token(header: str, token: str) -> None:
    """The token is what follows the first space; a second space hides it, as in the reference."""
    assert bearer_token(header) == token
