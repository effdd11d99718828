"""Times as Go's time package reads them, stored in whole seconds of UTC."""

import pytest

from apiext.base.meta import time


@pytest.mark.parametrize(
    "text, stored",
    [
        ("2026-11-21T08:47:45Z", "2026-11-21T08:47:45Z"),
        ("2020-01-01T00:00:00.5+02:00", "2019-12-31T22:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_canonical(text: str, stored: str | None) -> None:
    """Drop fractions, convert the zone to UTC, and return None for the zero time."""
    assert time.canonical(text) == stored


@pytest.mark.parametrize("text", ["foo", "", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01T25:00:00Z"])
def test_rejects_malformed_times(text: str) -> None:
    """Raise an error that names the text and the form of a time."""
    with pytest.raises(ValueError, match=f'^parsing time "{text}": not a time such as 2006-01-02T15:04:05Z$'):
        time.canonical(text)


def test_microseconds() -> None:
    """Write a MicroTime with six digits of a second, and require them."""
    assert time.canonical_micro("2020-01-01T00:00:00.123456Z") == "2020-01-01T00:00:00.123456Z"
    assert time.canonical_micro("0001-01-01T00:00:00.000000Z") is None
    with pytest.raises(ValueError, match=r"not a time such as 2006-01-02T15:04:05\.000000Z"):
        time.canonical_micro("2020-01-01T00:00:00.1Z")


@pytest.mark.parametrize("text, problem", [("soon", "invalid"), ("30", "missing unit in"), ("9" * 5000 + "s", "invalid")])
def test_durations(text: str, problem: str) -> None:
    """Return seconds; the error of a number without a unit says so."""
    assert time.parse_duration("-1m1.5s") == -61.5
    with pytest.raises(ValueError, match=f'time: {problem} duration "{text}"'):
        time.parse_duration(text)


def test_now_is_canonical() -> None:
    """Return the current time in the stored form."""
    assert time.is_canonical(time.now())
    assert not time.is_canonical("2020-13-01T00:00:00Z")
    assert not time.is_canonical(5)


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0s"),
        (5e-6, "5µs"),
        (1.25e-4, "125µs"),
        (0.0203, "20.3ms"),
        (1, "1s"),
        (2.5, "2.5s"),
        (62.5, "1m2.5s"),
        (3600, "1h0m0s"),
        (5e-8, "50ns"),
    ],
)
def test_writes_durations(seconds: float, text: str) -> None:
    """Write durations as Go does."""
    assert time.format_duration(seconds) == text
