"""Text from stored bytes, for a terminal."""

from __future__ import annotations

from typing import Final

from apiext.tools.reports.texts import printable

_ROW: Final = 16
"""Bytes in a row of a dump."""


def readable(data: bytes, limit: int) -> list[str]:
    """Return lines that show stored bytes, up to `limit` characters: an object as indented JSON, a text as it is, others as a dump."""
    from apiext.base.meta.encoding import json_codec
    from apiext.storage import stored_object

    try:
        text = json_codec.pretty(json_codec.dumps(stored_object.loads(data), sort_keys=False)).decode()
    except (ValueError, TypeError, RecursionError):
        text = _text(data)
    lines = [printable(line) for line in text[:limit].splitlines()]
    return [*lines, f"({len(text) - limit} more characters)"] if len(text) > limit else lines


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        rows = [(first, data[first : first + _ROW]) for first in range(0, len(data), _ROW)]
        return "\n".join(f"{first:08x}  {row.hex(' '):{3 * _ROW}} {row.decode('ascii', 'replace')}" for first, row in rows)
