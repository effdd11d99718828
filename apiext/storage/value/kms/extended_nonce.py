"""AES-GCM with a key of its own for each value (apiserver pkg/storage/value/encrypt/aes/aes_extended_nonce.go)."""

from __future__ import annotations

import os
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from apiext.storage.value.aes import TOO_SHORT, GCMTransformer
from apiext.storage.value.transformer import TransformError

SEED_SIZE: Final = 32
"""Least number of bytes of a seed."""
_INFO: Final = 32


class ExtendedNonceTransformer:
    """Implements Transformer: 32 random bytes, then a value of AES-GCM. HKDF derives its key from the seed and these bytes.

    Unlike the reference, no derived keys are kept: the watch cache decrypts a value once.
    """

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        """Use a seed.

        Raises:
            TransformError: it is too short.
        """
        if len(seed) < SEED_SIZE:
            raise TransformError(f"invalid seed length {len(seed)} used for key generation")
        self._seed = seed

    def _cipher(self, info: bytes) -> GCMTransformer:
        return GCMTransformer(HKDFExpand(SHA256(), 32, info).derive(self._seed))

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if len(data) < _INFO:
            raise TransformError(TOO_SHORT)
        return self._cipher(data[:_INFO]).from_storage(data[_INFO:], context)

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        info = os.urandom(_INFO)
        return info + self._cipher(info).to_storage(data, context)
