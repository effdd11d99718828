"""Dates, times and durations."""

from __future__ import annotations

import re
from datetime import date

_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})([^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_USUAL = re.compile(
    "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T"
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
"""What nearly all moments look like; days that not every month has are left to the calendar."""
_LEAP_CYCLE = 400

_GO_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
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
_MAX_DIGITS = 19

_WORDED = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_UNITS = frozenset(["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"])
_UNIT_STARTS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def is_date(text: str) -> bool:
    """A day of the calendar as 2006-01-02."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    try:
        # the year 0, which Python lacks, is a leap year like all multiples of 400
        date(year or _LEAP_CYCLE, month, day)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """A moment as 2006-01-02T15:04:05Z; the letters in either case."""
    if _USUAL.fullmatch(text):
        return True
    parts = text.lower().split("t")
    if len(parts) == 1 or not is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def is_duration(text: str) -> bool:
    """A duration as Go writes it (1h30m), or numbers with units in words anywhere in the text (2 days)."""
    if _is_go_duration(text):
        return True
    found = False
    for number, unit in _WORDED.findall(text):
        if _exceeds(number) or int(number.lstrip("0") or 0) == _LIMIT:
            return False
        found = found or unit.lower() in _UNITS or unit.lower().startswith(_UNIT_STARTS)
    return found


def _exceeds(digits: str) -> bool:
    """Whether a number is beyond any integer of 64 bits; it may have more digits than Python cares to convert."""
    significant = digits.lstrip("0")
    return len(significant) > _MAX_DIGITS or int(significant or 0) > _LIMIT


def _is_go_duration(text: str) -> bool:
    if not _GO_DURATION.fullmatch(text):
        return False
    total = 0
    for whole, fraction, unit in _GO_PART.findall(text):
        if _exceeds(whole):
            return False
        scale = _NANOSECONDS[unit]
        # digits beyond the nineteenth of a fraction cannot change whole nanoseconds
        digits = (fraction or "0")[:19]
        total += int(whole.lstrip("0") or 0) * scale + int(digits) * scale // 10 ** len(digits)
    return total < _LIMIT or (total == _LIMIT and text.startswith("-"))
