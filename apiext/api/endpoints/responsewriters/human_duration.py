"""Ages and durations for humans (apimachinery pkg/util/duration and pkg/api/meta/table)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from apiext.base.meta import time

_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time."""


def age(timestamp: str, now: datetime) -> str:
    """Return the time since an RFC 3339 timestamp, `<unknown>` for an empty or zero one, `<invalid>` for a malformed one."""
    if not timestamp:
        return "<unknown>"
    try:
        canonical = len(timestamp) == 20 and timestamp[10] == "T" and timestamp[19] == "Z"
        moment = datetime.fromisoformat(timestamp) if canonical else time.parse(timestamp)
    except ValueError:
        return "<invalid>"
    if moment.year == 1 and moment == _ZERO:
        return "<unknown>"
    return human_duration((now - moment).total_seconds())


def human_duration(seconds: float) -> str:
    """Return two or three significant figures of a duration in seconds, `<invalid>` below -1 second."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 60 * 2:
        return f"{whole}s"
    minutes, hours = whole // 60, whole // 3600
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 60 * 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 24 * 8:
        return _two(hours // 24, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{hours // 24}d"
    if hours < 24 * 365 * 8:
        return _two(hours // 24 // 365, "y", hours // 24 % 365, "d")
    return f"{hours // 24 // 365}y"


def _two(great: int, great_unit: str, small: int, small_unit: str) -> str:
    return f"{great}{great_unit}{small}{small_unit}" if small else f"{great}{great_unit}"
