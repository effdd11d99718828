"""Values stored as they are (apiserver pkg/storage/value/encrypt/identity)."""

from __future__ import annotations

from apiext.storage.stored_object import ENCRYPTED_PREFIX, NOT_DECRYPTED
from apiext.storage.value.transformer import TransformError


class IdentityTransformer:
    """Implements Transformer without a change. It refuses to read encrypted values."""

    __slots__ = ()

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if data.startswith(ENCRYPTED_PREFIX):
            raise TransformError(NOT_DECRYPTED)
        return data, False

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        return data
