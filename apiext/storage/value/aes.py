"""AES-GCM and AES-CBC (apiserver pkg/storage/value/encrypt/aes/aes.go)."""

from __future__ import annotations

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from apiext.storage.value.transformer import TransformError

KEY_SIZES: Final = (16, 24, 32)
"""Bytes of a key: AES-128, AES-192 and AES-256."""
TOO_SHORT: Final = "the stored data was shorter than the required size"
_NONCE: Final = 12
_BLOCK: Final = 16


class GCMTransformer:
    """Implements Transformer by AES-GCM: a random nonce of 12 bytes, then ciphertext and tag. Authenticates the context."""

    __slots__ = ("_aead",)

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if len(data) < _NONCE:
            raise TransformError(TOO_SHORT)
        try:
            return self._aead.decrypt(data[:_NONCE], data[_NONCE:], context), False
        except InvalidTag as error:
            raise TransformError("cipher: message authentication failed") from error

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        nonce = os.urandom(_NONCE)
        return nonce + self._aead.encrypt(nonce, data, context)


class CBCTransformer:
    """Implements Transformer by AES-CBC: a random initialization vector of 16 bytes, then ciphertext with PKCS #7 padding.

    Authenticates nothing.
    """

    __slots__ = ("_algorithm",)

    def __init__(self, key: bytes) -> None:
        self._algorithm = AES(key)

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if len(data) < _BLOCK:
            raise TransformError(TOO_SHORT)
        if len(data) % _BLOCK:
            raise TransformError("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._algorithm, CBC(data[:_BLOCK])).decryptor()
        result = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
        padding = result[-1] if result else 0
        if not 0 < padding <= len(result):
            raise TransformError("invalid PKCS7 data (empty or not padded)")
        if not result.endswith(bytes([padding]) * padding):
            raise TransformError("invalid padding on input")
        return result[:-padding], False

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        vector = os.urandom(_BLOCK)
        padding = _BLOCK - len(data) % _BLOCK
        encryptor = Cipher(self._algorithm, CBC(vector)).encryptor()
        return b"%b%b%b" % (vector, encryptor.update(data + bytes([padding]) * padding), encryptor.finalize())
