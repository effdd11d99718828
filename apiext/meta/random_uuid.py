"""Random UUIDs, for objects and requests."""

from __future__ import annotations

import os
from typing import Final

_BATCH: Final = 256
"""UUIDs per read of random bytes: a system call for each of them would take longer than the rest."""
_VARIANTS: Final = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The digit of RFC 9562's variant for a random digit."""
_digits: Final[list[str]] = []
"""Random digits for the next UUIDs. Taking one is atomic: threads never get the same."""

os.register_at_fork(after_in_child=_digits.clear)


def random_uuid() -> str:
    """Return a random UUID (version 4)."""
    try:
        text = _digits.pop()
    except IndexError:
        text, *more = _read()
        _digits.extend(more)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:]}"


def _read() -> list[str]:
    digits = os.urandom(16 * _BATCH).hex()
    return [digits[start : start + 32] for start in range(0, len(digits), 32)]
