"""Formats of dates, times and durations."""

from __future__ import annotations

import re
from datetime import date

_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})([^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_COMMON_TIME = re.compile(
    "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T"
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
"""Matches nearly all times. Days 29 to 31 need the calendar."""
_LEAP_CYCLE = 400
"""Years after which the calendar repeats."""

_GO_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))++)")
_GO_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([a-zµμ]+)")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LIMIT = 2**63
"""Nanoseconds above the longest Go duration."""

_WORDED = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]++)")
"""A number with a unit. A match cannot begin inside a number: it would have begun with it."""
_DAY = 24 * 3600 * 10**9
_UNITS = _NANOSECONDS | {"hr": _NANOSECONDS["h"], "d": _DAY, "w": 7 * _DAY, "wk": 7 * _DAY}
_UNIT_STARTS = {
    "nano": 1,
    "micro": 10**3,
    "milli": 10**6,
    "sec": 10**9,
    "min": 60 * 10**9,
    "hour": 3600 * 10**9,
    "day": _DAY,
    "week": 7 * _DAY,
}


def is_date(text: str) -> bool:
    """Return whether a text is a day of the calendar such as 2006-01-02."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    try:
        # The year 0, which Python lacks, is a leap year like every multiple of 400.
        date(year or _LEAP_CYCLE, month, day)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Return whether a text is a time such as 2006-01-02T15:04:05Z; letters may be in either case."""
    if _COMMON_TIME.fullmatch(text):
        return True
    parts = text.lower().split("t")
    if len(parts) == 1 or not is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def is_duration(text: str) -> bool:
    """Return whether a text is a Go duration (1h30m), or contains numbers with units in words (2 days)."""
    return parse_duration(text) is not None


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration, None for an invalid one (strfmt.ParseDuration)."""
    if (nanoseconds := parse_go_duration(text)) is not None:
        return nanoseconds
    found = False
    total = 0
    for number, unit in _WORDED.findall(text):
        if (count := _number(number)) >= _LIMIT:
            return None
        if scale := _scale(unit.lower()):
            found = True
            total += count * scale
    # As in Go, a sum of 64 bits wraps.
    return (total + _LIMIT) % (2 * _LIMIT) - _LIMIT if found else None


def _scale(unit: str) -> int:
    """Return the nanoseconds of a unit in words, 0 for an unknown one."""
    if unit in _UNITS:
        return _UNITS[unit]
    return next((scale for start, scale in _UNIT_STARTS.items() if unit.startswith(start)), 0)


def _number(digits: str) -> int:
    """Return a number. With more than 19 digits it exceeds int64: return 2**64 without converting it."""
    significant = digits.lstrip("0")
    return int(significant or 0) if len(significant) <= 19 else 2**64


def parse_go_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration such as 1h30m, None for an invalid or too long one (Go's time.ParseDuration)."""
    if not _GO_DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _GO_PART.findall(text):
        scale = _NANOSECONDS[unit]
        # Digits of a fraction beyond the nineteenth cannot change whole nanoseconds.
        digits = (fraction or "0")[:19]
        total += _number(whole) * scale + int(digits) * scale // 10 ** len(digits)
    if text.startswith("-"):
        total = -total
    return total if -_LIMIT <= total < _LIMIT else None
