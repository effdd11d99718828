"""Formats of dates, times and durations."""

from __future__ import annotations

import re
from datetime import date

from apiext.base.meta.time import DURATION_LIMIT, NANOSECONDS, duration_nanoseconds

_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)

_WORDED = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]++)")
"""A number with a unit. A match cannot begin inside a number: it would have begun with it."""
_MAX_DIGITS = 19
"""Digits of the greatest number of nanoseconds."""
_DAY = 24 * 3600 * 10**9
_UNITS = NANOSECONDS | {"hr": NANOSECONDS["h"], "d": _DAY, "w": 7 * _DAY, "wk": 7 * _DAY}
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
    return _DATE.fullmatch(text) is not None and _exists(text)


def _exists(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Return whether a text is a time such as 2006-01-02T15:04:05Z; letters may be in either case."""
    found = _DATE_TIME.fullmatch(text)
    return found is not None and _exists(found[1])


def is_duration(text: str) -> bool:
    """Return whether a text is a Go duration (1h30m), or contains numbers with units in words (2 days)."""
    return parse_duration(text) is not None


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration, None for an invalid or too long one (strfmt.ParseDuration)."""
    if (nanoseconds := duration_nanoseconds(text)) is not None:
        return nanoseconds
    total = None
    for number, unit in _WORDED.findall(text):
        if len(number) > _MAX_DIGITS:
            return None
        if scale := _scale(unit.lower()):
            total = (total or 0) + int(number) * scale
    return total if total is None or total < DURATION_LIMIT else None


def _scale(unit: str) -> int:
    """Return the nanoseconds of a unit in words, 0 for an unknown one."""
    if unit in _UNITS:
        return _UNITS[unit]
    return next((scale for start, scale in _UNIT_STARTS.items() if unit.startswith(start)), 0)
