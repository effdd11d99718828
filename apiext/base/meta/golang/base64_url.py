"""Base64url without padding (Go's base64.RawURLEncoding)."""

from __future__ import annotations

import base64
import re
from typing import Final

_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")


def encode(data: bytes) -> str:
    """Return the text of bytes."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Return the bytes of a text. Line breaks do not count, bits beyond the last byte neither.

    Raises:
        ValueError: the text has padding or letters of standard base64, or is truncated.
    """
    text = text.replace("\r", "").replace("\n", "")
    if not _ALPHABET.fullmatch(text) or len(text) % 4 == 1:
        raise ValueError("illegal base64 data")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
