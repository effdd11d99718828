"""Encodings of stored objects."""

import pytest

from apiext.storage import stored_object


def test_reads_both_encodings() -> None:
    """Read JSON and CBOR."""
    assert stored_object.loads(b'{"a":1}\n') == {"a": 1}
    assert stored_object.loads(stored_object.cbor({"a": 1.0})) == {"a": 1}


@pytest.mark.parametrize("data", [b"\xd9\xd9\xf7", b"\xd9\xd9\xf7\xa1", b"{"])
def test_rejects_damaged_bytes(data: bytes) -> None:
    """Raise ValueError for bytes of neither encoding."""
    with pytest.raises(ValueError, match=r"EOF|unexpected"):
        stored_object.loads(data)
