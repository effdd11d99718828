"""XSalsa20 and Poly1305 (apiserver pkg/storage/value/encrypt/secretbox)."""

from __future__ import annotations

import os
from typing import Final

from nacl.bindings import crypto_secretbox, crypto_secretbox_open
from nacl.exceptions import CryptoError

from apiext.storage.value.transformer import TransformError

KEY_SIZES: Final = (32,)
_NONCE: Final = 24
_TAG: Final = 16


class SecretboxTransformer:
    """Implements Transformer by NaCl's secretbox: a random nonce of 24 bytes, then tag and ciphertext. Does not use the context."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if len(data) < _NONCE + _TAG:
            raise TransformError("the stored data was shorter than the required size")
        try:
            return crypto_secretbox_open(data[_NONCE:], data[:_NONCE], self._key), False
        except CryptoError as error:
            # the reference's words for any failure
            raise TransformError("output array was not large enough for encryption") from error

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        nonce = os.urandom(_NONCE)
        return nonce + crypto_secretbox(data, nonce, self._key)
