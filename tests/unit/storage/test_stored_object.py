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
    with pytest.raises(ValueError, match=r"premature end|unexpected"):
        stored_object.loads(data)


@pytest.mark.parametrize(
    "data,expected",
    [
        (b'{"apiVersion":"example.com/v1","kind":"Widget"', "example.com/v1"),
        (b'{"kind":"Namespace","apiVersion":"v1","metadata":{}}', "v1"),
        (b'{"a":1,"apiVersion":"example.com/v1"}', "example.com/v1"),
        (b' {"apiVersion":"example.com\\/v1"}', "example.com/v1"),
        (stored_object.cbor({"metadata": {"apiVersion": "x"}, "apiVersion": "example.com/v1"}), "example.com/v1"),
        (b'{"a":1,"apiVersion":"example.com/v1"', ""),
        (b'{"metadata":{"apiVersion":"x"}}', ""),
        (b'["apiVersion"]', ""),
        (b'{"apiVersion":null}', ""),
        (b"\xd9\xd9\xf7\xa1", ""),
        (b"k8s:enc:secretbox:v1:key:x", ""),
        (b"", ""),
    ],
)
def test_finds_the_version(data: bytes, expected: str) -> None:
    """Return the apiVersion of an object in either encoding, "" where there is none."""
    assert stored_object.api_version(data) == expected


@pytest.mark.parametrize("version", ["v1", "example.com/v1"])
def test_objects_begin_with_their_version(version: str) -> None:
    """Return a beginning of which `api_version` reads the same version."""
    assert stored_object.api_version(stored_object.head(version) + b',"kind":"Widget"}') == version
