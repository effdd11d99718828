"""The calendar and texts of times."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.values.run_time_values import Duration, Timestamp
from apiext.schema.cel.values.times import civil, format_duration, format_timestamp, parse_timestamp, zone_offset

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


@given(st.datetimes(timezones=st.just(UTC)))
def test_the_calendar_agrees_with_python(moment: datetime) -> None:
    """Compare all parts of times of all years that Python has."""
    nanoseconds = (moment - EPOCH) // timedelta(microseconds=1) * 1000

    assert civil(Timestamp(nanoseconds), 0) == moment.replace(microsecond=0)


def test_the_calendar_ends() -> None:
    """Refuse a zone in which a time has the year 10000."""
    with pytest.raises(CelError, match="timestamp overflow"):
        civil(Timestamp(253_402_300_799 * SECOND), 3600)


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda moment: 1 < moment.year < 9999), st.integers(-14 * 60, 14 * 60))
def test_texts_are_read_as_they_are_written(moment: datetime, minutes: int) -> None:
    """Write a time at an offset and read it."""
    written = Timestamp((moment - EPOCH) // timedelta(microseconds=1) * 1000, minutes * 60)

    assert parse_timestamp(format_timestamp(written)) == written


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00",
        "2024-01-01 00:00:00Z",
        "2024-13-01T00:00:00Z",
        "24-01-01T00:00:00Z",
    ],
)
def test_texts_that_are_no_times(text: str) -> None:
    """Refuse what Go refuses."""
    assert parse_timestamp(text) is None


@pytest.mark.parametrize(
    "nanoseconds,text",
    [
        (0, "0s"),
        (1, "0.000000001s"),
        (1_500_000_000, "1.5s"),
        (-90 * 60 * SECOND, "-5400s"),
        (9_223_372_036_854_775_807, "9223372036.854776s"),
    ],
)
def test_durations_are_seconds(nanoseconds: int, text: str) -> None:
    """Write seconds as Go does, through a double."""
    assert format_duration(Duration(nanoseconds)) == text


def test_zones() -> None:
    """Know names and offsets, and refuse others."""
    summer = Timestamp(1_720_000_000 * SECOND)

    assert zone_offset(summer, "Europe/Berlin") == 7200
    assert zone_offset(summer, "-05:30") == -19_800
    with pytest.raises(CelError, match="unknown time zone Nowhere"):
        zone_offset(summer, "Nowhere")
