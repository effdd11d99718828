"""Key ranges: where a prefix ends."""

from __future__ import annotations

from typing import Final

LAST: Final = "\U0010ffff"
"""A bound above every key."""


def prefix_end(prefix: str) -> str:
    """The smallest string above every string with the prefix, in the byte order of UTF-8; LAST for no prefix.

    Mirrors clientv3.GetPrefixRangeEnd.
    """
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else LAST
