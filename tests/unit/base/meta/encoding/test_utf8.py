"""Texts of bytes that are not UTF-8."""

import pytest

from apiext.base.meta.encoding import utf8


@pytest.mark.parametrize("data, text", [(b"a", "a"), (b"\xc3\xa9", "é"), (b"\xe2\x82x\xff", "\ufffd\ufffdx\ufffd")])
def test_replaces_each_byte(data: bytes, text: str) -> None:
    """Replace each byte that is not UTF-8 for itself, as Go does."""
    assert utf8.replaced(data.decode(errors="surrogateescape")) == text
