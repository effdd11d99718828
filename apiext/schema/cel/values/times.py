"""Texts and calendar of timestamps and durations (Go's time package, as cel-go uses it)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from apiext.schema.cel.errors import TIMESTAMP_OVERFLOW, CelError
from apiext.schema.cel.values.run_time_values import NANOSECONDS, Duration, Timestamp

_RFC3339: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE_MIN: Final = -62_135_510_400
_ZONE_MAX: Final = 253_402_214_400
"""Seconds within which Python knows time zone offsets: the years 1 to 9999 without the first and last day."""
_SECOND: Final = timedelta(seconds=1)
_OFFSET: Final = re.compile("([+-]?[0-9]{1,4}):([0-9]{1,4})")


def parse_timestamp(text: str, *, zone_required: bool = True) -> Timestamp | None:
    """Return the time of a text such as 2006-01-02T15:04:05Z, None if it is none. Without a zone it is in UTC."""
    match = _RFC3339.fullmatch(text)
    if match is None or (zone_required and match[3] is None):
        return None
    try:
        moment = datetime.fromisoformat(match[1] + (match[3] or "Z"))
    except ValueError:
        return None
    offset = moment.utcoffset() or timedelta(0)
    fraction = (match[2] or "")[:9].ljust(9, "0")
    return Timestamp((moment - _EPOCH) // _SECOND * NANOSECONDS + int(fraction), offset // _SECOND)


def civil(moment: Timestamp, offset: int) -> datetime:
    """Return a time in calendar form at an offset from UTC (seconds), without fractions of a second.

    Raises:
        CelError: The time there is not in the years 1 to 9999.
    """
    try:
        return _EPOCH + timedelta(seconds=moment.nanoseconds // NANOSECONDS + offset)
    except OverflowError:
        raise CelError(TIMESTAMP_OVERFLOW) from None


def format_timestamp(moment: Timestamp) -> str:
    """Return the text of a time at its own offset (time.RFC3339Nano)."""
    shown = civil(moment, moment.offset).replace(tzinfo=timezone(timedelta(seconds=moment.offset))).isoformat()
    fraction = f".{moment.nanoseconds % NANOSECONDS:09}".rstrip("0").rstrip(".")
    return f"{shown[:19]}{fraction}{shown[19:] if moment.offset else 'Z'}"


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
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return _zone(zone)(moment)
    return (int(found[1]) * 60 + (-1 if zone.startswith("-") else 1) * int(found[2])) * 60


@lru_cache(maxsize=64)
def _zone(name: str) -> Callable[[Timestamp], int]:
    if name in {"", "UTC", "Local"}:
        return lambda _: 0
    # few rules name a time zone
    from zoneinfo import ZoneInfo

    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelError(f"unknown time zone {name}") from None

    def offset(moment: Timestamp) -> int:
        seconds = min(max(moment.nanoseconds // NANOSECONDS, _ZONE_MIN), _ZONE_MAX)
        found = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
        return 0 if found is None else found.days * _DAY + found.seconds

    return offset
