"""Texts that hold bytes that are none, as Go writes them."""

from apiext.meta import go_format


def test_bytes_that_are_no_text() -> None:
    """They are quoted as bytes."""
    assert go_format.quote(b"a\xff\xe4\n".decode(errors="surrogateescape")) == r'"a\xff\xe4\n"'
