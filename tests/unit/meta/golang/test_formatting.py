"""Go's text of invalid UTF-8."""

from apiext.meta.golang import formatting


def test_quotes_invalid_utf8_as_bytes() -> None:
    """Quote surrogate escapes as the bytes that they stand for."""
    assert formatting.quote(b"a\xff\xe4\n".decode(errors="surrogateescape")) == r'"a\xff\xe4\n"'


def test_trims_spaces() -> None:
    """Trim what Go regards as spaces, and no other characters."""
    assert formatting.trim_space(" \t\u2003a b\x85\n") == "a b"
    assert formatting.trim_space("\x1fa\x1f") == "\x1fa\x1f"
