"""Go's text of invalid UTF-8."""

from apiext.meta import go_format


def test_quotes_invalid_utf8_as_bytes() -> None:
    """Quote surrogate escapes as the bytes that they stand for."""
    assert go_format.quote(b"a\xff\xe4\n".decode(errors="surrogateescape")) == r'"a\xff\xe4\n"'
