"""Texts and calendar of timestamps and durations (Go's time package, as cel-go uses it)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.values import NANOSECONDS, Duration, Timestamp

_LAYOUT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))?",
    re.ASCII,
)
_DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE_MIN: Final = -62_135_510_400
_ZONE_MAX: Final = 253_402_214_400
"""Seconds within which Python knows time zone offsets: the years 1 to 9999 without the first and last day."""
_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Civil(NamedTuple):
    """A time in calendar form."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int
    """0 is Sunday."""
    yearday: int
    """0 is the first of January."""


def parse_timestamp(text: str, *, zone_required: bool = True) -> Timestamp | None:
    """Return the time of a text such as 2006-01-02T15:04:05Z, None if it is none. Without a zone it is in UTC."""
    match = _LAYOUT.fullmatch(text)
    if match is None or (zone_required and match[8] is None and not text.endswith("Z")):
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= _days_of(year, month) and hour <= 23 and minute <= 59 and second <= 59):
        return None
    offset = 0
    if match[8] is not None:
        if int(match[9]) > 24 or int(match[10]) > 60:
            return None
        offset = (int(match[9]) * 3600 + int(match[10]) * 60) * (-1 if match[8] == "-" else 1)
    seconds = _days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - offset
    fraction = (match[7] or "")[:9].ljust(9, "0")
    return Timestamp(seconds * NANOSECONDS + int(fraction), offset)


def _days_of(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 if month == 2 and not leap else _MONTHS[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 in the Gregorian calendar. It repeats after 146,097 days; years begin in March here."""
    year -= month <= 2
    era, year = divmod(year, 400)
    yearday = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year * 365 + year // 4 - year // 100 + yearday - 719_468


def civil(moment: Timestamp, offset: int) -> Civil:
    """Return the calendar form of a time at an offset from UTC (seconds)."""
    seconds, nanosecond = divmod(moment.nanoseconds, NANOSECONDS)
    days, rest = divmod(seconds + offset, _DAY)
    era, place = divmod(days + 719_468, 146_097)
    year = (place - place // 1460 + place // 36_524 - place // 146_096) // 365
    from_march = place - (365 * year + year // 4 - year // 100)
    month = (5 * from_march + 2) // 153
    day = from_march - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (month <= 2)
    return Civil(year, month, day, rest // 3600, rest // 60 % 60, rest % 60, nanosecond, (days + 4) % 7, days - _days(year, 1, 1))


def format_timestamp(moment: Timestamp) -> str:
    """Return the text of a time at its own offset (time.RFC3339Nano)."""
    shown = civil(moment, moment.offset)
    fraction = f".{shown.nanosecond:09}".rstrip("0").rstrip(".")
    zone = "Z"
    if moment.offset:
        minutes = abs(moment.offset) // 60
        zone = f"{'-' if moment.offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{shown.year:04}-{shown.month:02}-{shown.day:02}T{shown.hour:02}:{shown.minute:02}:{shown.second:02}{fraction}{zone}"


def format_duration(length: Duration) -> str:
    """Return the text of a duration in seconds, such as 1.5s."""
    sign = "-" if length.nanoseconds < 0 else ""
    seconds, rest = divmod(abs(length.nanoseconds), NANOSECONDS)
    # Go adds both as doubles.
    shortest = repr(seconds + rest / 1e9)
    if "e" in shortest:
        shortest = f"{seconds + rest / 1e9:.9f}".rstrip("0")
    return f"{sign}{shortest.removesuffix('.0').rstrip('.')}s"


def zone_offset(moment: Timestamp, zone: str) -> int:
    """Return the seconds that a time zone is ahead of UTC at a time; the zone is an IANA name or such as +05:30.

    Raises:
        CelError: There is no such time zone.
    """
    hours, colon, minutes = zone.partition(":")
    if not colon:
        return _zone(zone)(moment)
    sign = -1 if zone.startswith("-") else 1
    return (_number(hours) * 60 + sign * _number(minutes)) * 60


def _number(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    raise CelError(f'strconv.Atoi: parsing "{text}": invalid syntax')


@lru_cache(maxsize=64)
def _zone(name: str) -> Callable[[Timestamp], int]:
    if name in {"", "UTC", "Local"}:
        return lambda _: 0
    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        if ".." in name or name[:1] in {"/", "\\"}:
            raise CelError("time: invalid location name") from None
        raise CelError(f"unknown time zone {name}") from None

    def offset(moment: Timestamp) -> int:
        seconds = min(max(moment.nanoseconds // NANOSECONDS, _ZONE_MIN), _ZONE_MAX)
        found = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
        return 0 if found is None else found.days * _DAY + found.seconds

    return offset
