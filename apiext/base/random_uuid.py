"""Random UUIDs, for objects and requests."""

from __future__ import annotations

import os
from typing import Final

_BATCH: Final = 256
"""UUIDs made at once: one system call for each would take longer than the rest."""
_VERSION: Final = bytes(0x40 | code & 0x0F for code in range(256))
_VARIANT: Final = bytes(0x80 | code & 0x3F for code in range(256))
"""The bytes 6 and 8 of a UUID by random byte (RFC 9562)."""
_FORM: Final = b"00000000-0000-0000-0000-000000000000 "
_PLACES: Final = [place for place, char in enumerate(_FORM) if char == ord("0")]
"""Positions of the digits."""
_ready: Final[list[str]] = []
"""The next UUIDs. Taking one is atomic: no two threads get the same."""

os.register_at_fork(after_in_child=_ready.clear)


def random_uuid() -> str:
    """Return a random UUID (version 4)."""
    try:
        return _ready.pop()
    except IndexError:
        text, *more = _make()
        _ready.extend(more)
        return text


def _make() -> list[str]:
    random = bytearray(os.urandom(16 * _BATCH))
    random[6::16] = random[6::16].translate(_VERSION)
    random[8::16] = random[8::16].translate(_VARIANT)
    digits, text = random.hex().encode(), bytearray(_FORM * _BATCH)
    # one digit of all UUIDs at a time
    for at, place in enumerate(_PLACES):
        text[place :: len(_FORM)] = digits[at::32]
    return text.decode().split()
