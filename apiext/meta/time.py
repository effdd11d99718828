"""Times as metav1.Time and metav1.MicroTime read and write them (RFC 3339 in, UTC out), and durations in Go's syntax (`1h30m`)."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_UNSHOWN: Final = re.compile(rb"[\x00-\x1f\x80-\xff]")
_WHOLE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_WHOLE_LENGTH: Final = len("2006-01-02T15:04:05Z")
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
_SECOND: Final = ("05", re.compile(r"\d\d(?:[.,]\d+)?", re.ASCII), ("second", 0, 59))
_ZONE: Final = ("Z07:00", re.compile(r"Z|[+-]\d\d:\d\d", re.ASCII), None)
_UP_TO_MINUTE: Final = (
    ("2006", re.compile(r"\d{4}", re.ASCII), None),
    ("-", re.compile("-"), None),
    ("01", re.compile(r"\d\d", re.ASCII), ("month", 1, 12)),
    ("-", re.compile("-"), None),
    ("02", re.compile(r"\d\d", re.ASCII), None),
    ("T", re.compile("T"), None),
    ("15", re.compile(r"\d{1,2}", re.ASCII), ("hour", 0, 23)),
    (":", re.compile(":"), None),
    ("04", re.compile(r"\d\d", re.ASCII), ("minute", 0, 59)),
    (":", re.compile(":"), None),
)
_PARTS: Final = (*_UP_TO_MINUTE, _SECOND, _ZONE)
_MICRO_PARTS: Final = (
    *_UP_TO_MINUTE,
    ("05", re.compile(r"\d\d", re.ASCII), ("second", 0, 59)),
    (".000000", re.compile(r"\.\d{6}(?!\d)", re.ASCII), None),
    _ZONE,
)

_MIDNIGHT: Final = ("T", "00", ":", "00", ":", "00", "Z")
"""Defaults for the missing parts of a date."""
_DATE_PARTS: Final = 5

_DURATION_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "\u00b5s": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_DURATION_PART: Final = re.compile(r"(?P<number>[0-9]*(?:\.[0-9]*)?)(?P<unit>[^0-9.]*)")
_MAX_DURATION_SECONDS: Final = (2**63 - 1) / 1e9
"""Seconds of the longest duration, an int64 of nanoseconds."""


def now() -> str:
    """Return the current time in whole seconds, as in metadata."""
    return _at(int(time.time()))


@lru_cache(maxsize=1)  # Several writes a second record the same time.
def _at(seconds: int) -> str:
    return rfc3339(datetime.fromtimestamp(seconds, UTC))


def rfc3339(moment: datetime) -> str:
    """Return a UTC time in metadata's form."""
    return f"{moment.year:04}-{moment.month:02}-{moment.day:02}T{moment.hour:02}:{moment.minute:02}:{moment.second:02}Z"


def is_canonical(text: object) -> bool:
    """Return whether a value is a time in its stored form, but not the zero time."""
    return type(text) is str and len(text) == _WHOLE_LENGTH and _is_whole(text)


@lru_cache(maxsize=1024)  # Objects written at about the same time share few different times.
def _is_whole(text: str) -> bool:
    if _WHOLE.fullmatch(text) is None or text.startswith("0001-01-01T00:00:00"):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def canonical(text: str) -> str | None:
    """Return a time in its stored form, None for the zero time.

    Raises:
        ValueError: the text is no RFC 3339 time; the message is that of Go's time package.
    """
    if is_canonical(text):
        return text
    moment = parse(text)
    return None if moment == _ZERO else rfc3339(moment)


def parse(text: str) -> datetime:
    """Parse an RFC 3339 time.

    Raises:
        ValueError: the text is no RFC 3339 time; the message is that of Go's time package.
    """
    found = _scan(text, _PARTS, _LAYOUT)
    return _moment(text, found)


def local_fault(text: str, *, date_only: bool = False) -> str:
    """Return Go's message about a text that is no time without a zone, or no date; empty if it is one."""
    parts = _UP_TO_MINUTE[:_DATE_PARTS] if date_only else (*_UP_TO_MINUTE, _SECOND)
    try:
        found = _scan(text, parts, _LAYOUT[:10] if date_only else _LAYOUT[:19])
        _moment(text, [*found, *_MIDNIGHT[len(found) - _DATE_PARTS :]])
    except ValueError as error:
        return str(error)
    return ""


def canonical_micro(text: str) -> str | None:
    """Return a MicroTime in its stored form, None for the zero time.

    Raises:
        ValueError: the text is no RFC 3339 time; the message is that of Go's time package.
    """
    found = _scan(text, _MICRO_PARTS, _MICRO_LAYOUT)
    moment = _moment(text, found)
    if moment == _ZERO and found[-2] == ".000000":
        return None
    return f"{rfc3339(moment)[:-1]}{found[-2]}Z"


def _scan(text: str, parts: tuple[tuple[str, re.Pattern[str], tuple[str, int, int] | None], ...], whole: str) -> list[str]:
    rest, found = text, []
    for layout, pattern, bounds in parts:
        match = pattern.match(rest)
        if match is None:
            where = f" as {_quote(whole)}: cannot parse {_quote(rest)} as {_quote(layout)}"
            raise _error(text, where)
        part = match.group()
        if bounds is not None and not bounds[1] <= int(re.split("[.,]", part)[0]) <= bounds[2]:
            raise _error(text, f": {bounds[0]} out of range")
        found.append(part)
        rest = rest[len(part) :]
    if rest:
        raise _error(text, f": extra text: {_quote(rest)}")
    return found


def _moment(text: str, found: list[str]) -> datetime:
    year, month, day, hour, minute = (int(found[index]) for index in (0, 2, 4, 6, 8))
    second, zone = int(re.split("[.,]", found[10])[0]), found[-1]
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        if zone != "Z":
            offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
            moment = moment - offset if zone[0] == "+" else moment + offset
    except (ValueError, OverflowError):
        raise _error(text, ": day out of range") from None
    return moment


def _quote(text: str) -> str:
    """Return a text quoted as in messages of Go's time package, which differs from %q."""
    data = text.replace("\\", "\\\\").replace('"', '\\"').encode(errors="surrogateescape")
    shown = _UNSHOWN.sub(lambda byte: b"\\x%02x" % ord(byte[0]), data).decode()
    return f'"{shown}"'


def _error(text: str, what: str) -> ValueError:
    return ValueError(f"parsing time {_quote(text)}{what}")


def parse_duration(text: str) -> float:
    """Return the seconds of a duration.

    Raises:
        ValueError: the text is no duration; the message is Go's.
    """
    rest = text[1:] if text[:1] in {"+", "-"} else text
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"time: invalid duration {_quote(text)}")
    seconds = sum(_seconds(match, text) for match in _DURATION_PART.finditer(rest) if match.group())
    if seconds > _MAX_DURATION_SECONDS:
        raise ValueError(f"time: invalid duration {_quote(text)}")
    return -seconds if text[0] == "-" else seconds


def _seconds(match: re.Match[str], text: str) -> float:
    number, unit = match["number"], match["unit"]
    if number in {"", "."} or not number.isascii():
        raise ValueError(f"time: invalid duration {_quote(text)}")
    if not unit:
        raise ValueError(f"time: missing unit in duration {_quote(text)}")
    if unit not in _DURATION_UNITS:
        raise ValueError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
    return float(number) * _DURATION_UNITS[unit]
