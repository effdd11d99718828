"""Statistics of priority levels and flow schemas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.flowcontrol.statistics import DURATION_BUCKETS, WATCH_COUNT_BUCKETS, FlowHistogram, FlowStats


@given(st.lists(st.one_of(st.sampled_from(DURATION_BUCKETS), st.floats(0, 100))))
def test_counts_many_values_as_one_by_one(values: list[float]) -> None:
    """Count values in the same buckets, in whatever order they come."""
    together, alone = FlowHistogram(DURATION_BUCKETS), FlowHistogram(DURATION_BUCKETS)
    together.observe_all(values)
    for value in values:
        alone.observe(value)

    assert together.buckets == alone.buckets
    assert together.total == pytest.approx(alone.total)


def test_counts_the_least_value() -> None:
    """Count 0 in the first bucket."""
    short, long = FlowHistogram(WATCH_COUNT_BUCKETS), FlowHistogram(WATCH_COUNT_BUCKETS)
    short.observe_least()
    long.observe(0)

    assert (short.buckets, short.total) == (long.buckets, long.total)


@pytest.mark.parametrize("number", [0, 1, 255, 256, 1000])
def test_counts_executions(number: int) -> None:
    """Count each execution once, however often the histograms are read."""
    stats = FlowStats()
    for _ in range(number):
        stats.immediate += 1
        stats.count_execution(10_000_000, is_watch=False)
    stats.immediate += 2
    stats.count_execution(2_000_000_000, is_watch=True)

    for _ in range(2):
        regular, watch = stats.executions["regular"], stats.executions["watch"]
        assert (sum(regular.buckets), sum(watch.buckets)) == (number, 1)
        assert (stats.dispatched, stats.executing) == (number + 2, 1)
        assert regular.total == pytest.approx(number * 0.01)
