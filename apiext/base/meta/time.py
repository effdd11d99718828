"""Times as metav1.Time and metav1.MicroTime read and write them (RFC 3339 in, UTC out), and durations in Go's syntax (`1h30m`)."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_WHOLE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_WHOLE_LENGTH: Final = len("2006-01-02T15:04:05Z")
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_MICRO: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)

_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))++)")
_DURATION_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([a-zµμ]+)")
NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""Nanoseconds by the unit of a duration."""
_MAX_DIGITS: Final = 19
"""Digits of the longest duration in nanoseconds. More of a fraction cannot change them."""
DURATION_LIMIT: Final = 2**63
"""Nanoseconds above the longest duration."""


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
        ValueError: the text is no RFC 3339 time.
    """
    if is_canonical(text):
        return text
    moment = parse(text)
    return None if moment == _ZERO else rfc3339(moment)


def parse(text: str) -> datetime:
    """Parse an RFC 3339 time.

    Raises:
        ValueError: the text is no RFC 3339 time.
    """
    return _parsed(text, _RFC3339).replace(microsecond=0)


def canonical_micro(text: str) -> str | None:
    """Return a MicroTime in its stored form, None for the zero time.

    Raises:
        ValueError: the text is no RFC 3339 time with microseconds.
    """
    moment = _parsed(text, _MICRO)
    return None if moment == _ZERO else f"{rfc3339(moment)[:-1]}.{moment.microsecond:06}Z"


def _parsed(text: str, form: re.Pattern[str]) -> datetime:
    if form.fullmatch(text):
        with suppress(ValueError, OverflowError):
            return datetime.fromisoformat(text).astimezone(UTC)
    example = "2006-01-02T15:04:05Z" if form is _RFC3339 else "2006-01-02T15:04:05.000000Z"
    raise ValueError(f"parsing time {json.dumps(text, ensure_ascii=False)}: not a time such as {example}")


def duration_nanoseconds(text: str) -> int | None:
    """Return the nanoseconds of a duration such as 1h30m, None for an invalid or too long one (Go's time.ParseDuration)."""
    if not _DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _DURATION_PART.findall(text):
        if len(whole.lstrip("0")) > _MAX_DIGITS:
            return None
        digits = (fraction or "0")[:_MAX_DIGITS]
        total += int(whole or 0) * NANOSECONDS[unit] + int(digits) * NANOSECONDS[unit] // 10 ** len(digits)
    if text.startswith("-"):
        total = -total
    return total if -DURATION_LIMIT <= total < DURATION_LIMIT else None


def parse_duration(text: str) -> float:
    """Return the seconds of a duration.

    Raises:
        ValueError: the text is no duration.
    """
    nanoseconds = duration_nanoseconds(text)
    if nanoseconds is None:
        problem = "missing unit in" if text.isdigit() else "invalid"
        raise ValueError(f"time: {problem} duration {json.dumps(text, ensure_ascii=False)}")
    return nanoseconds / 1e9


def format_duration(seconds: float) -> str:
    """Return a duration in Go's syntax: 1m2.5s, 1.5s, 20.3ms, 5µs, 50ns."""
    nanoseconds = round(seconds * 1e9)
    if nanoseconds < 1000:
        return f"{nanoseconds}ns" if nanoseconds else "0s"
    for unit, size in (("µs", 1_000), ("ms", 1_000_000)):
        if nanoseconds < size * 1000:
            return f"{_decimal(nanoseconds, size)}{unit}"
    minutes, rest = divmod(nanoseconds, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text


def _decimal(nanoseconds: int, unit: int) -> str:
    whole, rest = divmod(nanoseconds, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".")


_SECOND: Final = 1_000_000_000
_latest: tuple[int, str] = 0, "1970-01-01T00:00:00."
"""The last second that was asked for, in nanoseconds, and its text."""


def micro_time(moment: int) -> str:
    """Return a time in nanoseconds since 1970 as Kubernetes' MicroTime."""
    begin, text = _latest
    micros = (moment - begin) // 1000
    if not 0 <= micros < 1_000_000:
        begin, text = second_of(moment)
        micros = (moment - begin) // 1000
    return f"{text}{micros:06}Z"


def second_of(moment: int) -> tuple[int, str]:
    """Return the second of a time in nanoseconds since 1970: when it began, and the beginning of its text as `micro_time`."""
    global _latest  # noqa: PLW0603 -- one tuple, which threads replace as a whole
    begin, text = _latest
    if 0 <= moment - begin < _SECOND:
        return begin, text
    second = moment // _SECOND
    found = _latest = second * _SECOND, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
    return found


def local_time(moment: int) -> str:
    """Return a time in the local zone, as Go's RFC3339Nano: without final zeros."""
    local = datetime.fromtimestamp(moment / 1e9).astimezone()
    fraction = f".{local.microsecond:06d}".rstrip("0").rstrip(".")
    zone = local.strftime("%z")
    return f"{local:%Y-%m-%dT%H:%M:%S}{fraction}{'Z' if zone == '+0000' else f'{zone[:3]}:{zone[3:]}'}"
