"""Times as Go's time package reads them, stored in whole seconds of UTC."""

import re

import pytest

from apiext.meta import time

ODD = r"\"\\\x0a" + "\x7f" + r"\xc3\xa9"


@pytest.mark.parametrize(
    "text, stored",
    [
        ("2026-11-21T08:47:45Z", "2026-11-21T08:47:45Z"),
        ("2020-01-01T00:00:00.5+02:00", "2019-12-31T22:00:00Z"),
        ("2020-01-01T1:02:03-01:30", "2020-01-01T02:32:03Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_canonical(text: str, stored: str | None) -> None:
    """Drop fractions, convert the zone to UTC, and return None for the zero time."""
    assert time.canonical(text) == stored


@pytest.mark.parametrize(
    "text, why",
    [
        ("foo", '"foo" as "2006-01-02T15:04:05Z07:00": cannot parse "foo" as "2006"'),
        ("", '"" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2020-01-01T00:00:00", '"2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'),
        ('"\\\n\x7fé', f'"{ODD}" as "2006-01-02T15:04:05Z07:00": cannot parse "{ODD}" as "2006"'),
        ("2020-13-01T00:00:00Z", '"2020-13-01T00:00:00Z": month out of range'),
        ("2020-02-30T00:00:00Z", '"2020-02-30T00:00:00Z": day out of range'),
        ("2020-01-01T25:00:00Z", '"2020-01-01T25:00:00Z": hour out of range'),
    ],
)
def test_rejects_malformed_times(text: str, why: str) -> None:
    """Raise Go's message for a text that is no RFC 3339 time."""
    with pytest.raises(ValueError, match=f"^{re.escape(f'parsing time {why}')}$"):
        time.canonical(text)


def test_microseconds() -> None:
    """Write a MicroTime with six digits of a second."""
    assert time.canonical_micro("2020-01-01T00:00:00.123456Z") == "2020-01-01T00:00:00.123456Z"
    with pytest.raises(ValueError, match=re.escape('cannot parse ".1Z" as ".000000"')):
        time.canonical_micro("2020-01-01T00:00:00.1Z")


def test_now_is_canonical() -> None:
    """Return the current time in the stored form."""
    assert time.is_canonical(time.now())
    assert not time.is_canonical("2020-13-01T00:00:00Z")
    assert not time.is_canonical(5)
