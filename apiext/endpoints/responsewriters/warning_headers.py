"""Texts as Warning headers: each once, all of them bounded.

Mirrors apiserver pkg/endpoints/filters/warning.go and apimachinery pkg/util/net (NewWarningHeader).
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOTAL: Final = 4 * 1024
"""Characters of all warnings together, above which each is shortened."""
_ITEM: Final = 256
"""Characters of a shortened warning."""


def warning_headers(texts: Iterable[str]) -> list[str]:
    """Values of Warning headers, in order.

    Repeated and empty texts are left out, and those with control characters, which no header can carry.
    When all texts together are too long each is shortened, and what then is still too much is left out.
    """
    distinct = dict.fromkeys(text for text in texts if text)
    sendable = [text for text in distinct if not _has_control(text)]
    if sum(map(len, sendable)) <= _TOTAL:
        return [_header(text) for text in sendable]
    headers: list[str] = []
    written = 0
    for text in sendable:
        if written >= _TOTAL:
            break
        short = text[:_ITEM]
        written += len(short)
        headers.append(_header(short))
    return headers


def _has_control(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(char) == "Cc" for char in text)


def _header(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
