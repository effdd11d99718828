"""The transformer that changes nothing (apiserver pkg/storage/value/encrypt/identity)."""

from __future__ import annotations

from typing import Final

_ENCRYPTED: Final = b"k8s:enc:"


class IdentityTransformer:
    """Stores values as they are; refuses to take encrypted ones for plain."""

    def to_storage(self, data: bytes, key: str) -> bytes:
        """The data."""
        return data

    def from_storage(self, data: bytes, key: str) -> tuple[bytes, bool]:
        """The data, never stale; raises ValueError for a value that some other transformer wrote."""
        if data.startswith(_ENCRYPTED):
            raise ValueError("identity transformer tried to read encrypted data")
        return data, False
