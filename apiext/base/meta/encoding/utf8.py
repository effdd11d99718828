"""Texts with bytes that are not UTF-8: a lone surrogate stands for each such byte (surrogateescape)."""

from __future__ import annotations

import re
from typing import Final

_NOT_UTF8: Final = re.compile(r"[\ud800-\udfff]")


def replaced(text: str) -> str:
    """Return a text with U+FFFD in place of each byte that is not UTF-8."""
    return text if text.isascii() else _NOT_UTF8.sub("\ufffd", text)
