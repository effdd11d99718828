"""Values stored as they are (apiserver pkg/storage/value/encrypt/identity)."""

from __future__ import annotations

from typing import Final

from apiext.storage.value.transformer import TransformError

_ENCRYPTED: Final = b"k8s:enc:"


class IdentityTransformer:
    """Implements Transformer without a change. It refuses to read encrypted values."""

    __slots__ = ()

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if data.startswith(_ENCRYPTED):
            raise TransformError("identity transformer tried to read encrypted data")
        return data, False

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        return data
