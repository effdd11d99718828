"""Warning headers (apiserver pkg/endpoints/filters/warning.go)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_MAX_TOTAL_CHARACTERS: Final = 4 * 1024
"""Total length above which each warning is truncated."""
_TRUNCATED_CHARACTERS: Final = 256
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
"""Characters that a header cannot contain."""


def shortened(texts: Iterable[str]) -> list[str]:
    """Return the texts without parts that no header shows. The resulting headers stay the same."""
    kept: dict[str, None] = {}
    shown = 0
    for text in texts:
        start = text[: _MAX_TOTAL_CHARACTERS + 1]
        if start and start not in kept and not _CONTROL.search(text):
            kept[start] = None
            shown += min(len(start), _TRUNCATED_CHARACTERS)
            if shown > _MAX_TOTAL_CHARACTERS:
                break
    return list(kept)


def warning_headers(texts: Iterable[str]) -> list[str]:
    """Return the values of Warning headers, in order.

    Drop duplicates, empty texts, and texts with control characters, which a header can not contain.
    If the texts are too long in total, truncate each and drop those that still exceed the limit.
    """
    sendable = shortened(texts)
    if sum(map(len, sendable)) <= _MAX_TOTAL_CHARACTERS:
        return [_header(text) for text in sendable]
    headers: list[str] = []
    written = 0
    for text in sendable:
        if written >= _MAX_TOTAL_CHARACTERS:
            break
        short = text[:_TRUNCATED_CHARACTERS]
        written += len(short)
        headers.append(_header(short))
    return headers


def _header(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
