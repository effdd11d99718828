"""Durations as Go writes and reads them: `1h30m`, `1.5s`, `250ms` (time.ParseDuration)."""

from __future__ import annotations

import re
from typing import Final

from apiext.meta.go_format import quote

_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "\u00b5s": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"(?P<number>[0-9]*(?:\.[0-9]*)?)(?P<unit>[^0-9.]*)")
_MAX_SECONDS: Final = (2**63 - 1) / 1e9


def parse_duration(text: str) -> float:
    """Seconds of a duration. Raises ValueError in Go's words."""
    rest = text[1:] if text[:1] in {"+", "-"} else text
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"time: invalid duration {quote(text)}")
    seconds = sum(_seconds(match, text) for match in _PART.finditer(rest) if match.group())
    if seconds > _MAX_SECONDS:
        raise ValueError(f"time: invalid duration {quote(text)}")
    return -seconds if text[0] == "-" else seconds


def _seconds(match: re.Match[str], text: str) -> float:
    number, unit = match["number"], match["unit"]
    if number in {"", "."} or not number.isascii():
        raise ValueError(f"time: invalid duration {quote(text)}")
    if not unit:
        raise ValueError(f"time: missing unit in duration {quote(text)}")
    if unit not in _UNITS:
        raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    return float(number) * _UNITS[unit]
