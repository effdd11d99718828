"""Texts as Go handles them."""

from apiext.base.meta.golang import formatting


def test_trims_spaces() -> None:
    """Trim what Go regards as spaces, and no other characters."""
    assert formatting.trim_space(" \t\u2003a b\x85\n") == "a b"
    assert formatting.trim_space("\x1fa\x1f") == "\x1fa\x1f"
