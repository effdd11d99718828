"""The limited time of requests on the event loop."""

from collections.abc import Iterator

import pytest

from apiext.base.meta.limits import MAX_INLINE_SECONDS, MAX_INLINE_STEPS
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork, current_work


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Advance the clock by the limit with each look at it. Yield the processor time that the thread has used, in a list."""
    ticks, used = (number * MAX_INLINE_SECONDS for number in range(100)), [5.0]
    with monkeypatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: next(ticks))
        patch.setattr("time.thread_time", lambda: used[0])
        yield used


def test_stops_when_the_time_is_used(clock: list[float]) -> None:
    """Finish the work that is running at the limit, and refuse more of the same request, also after an error."""
    with InlineWork():
        work = current_work()
        assert work.is_limited
        with pytest.raises(ValueError, match="invalid literal"):
            work.run(int, "x")
        clock[0] += MAX_INLINE_SECONDS
        with pytest.raises(HeavyWorkError):
            work.run(int, "1")
    assert work.run(int, "1") == 1


def test_counts_no_time_in_which_others_had_the_processor(clock: list[float]) -> None:
    """Go on while the thread itself has used less than the limit, as on a busy machine."""
    with InlineWork():
        work = current_work()
        for text in "12":
            work.run(int, text)
            clock[0] += MAX_INLINE_SECONDS / 2
        clock[0] += MAX_INLINE_SECONDS
        with pytest.raises(HeavyWorkError):
            work.run(int, "3")


def test_stops_after_many_steps_or_for_a_large_size() -> None:
    """Count the steps of a request, and compare each size for itself."""
    with InlineWork():
        work = current_work()
        work.step(MAX_INLINE_STEPS)
        with pytest.raises(HeavyWorkError):
            work.step()
        work.check_size(5, 5)
        with pytest.raises(HeavyWorkError):
            work.check_size(6, 5)


def test_other_work_has_no_limits() -> None:
    """Limit nothing outside requests on the event loop, such as in worker processes."""
    with InlineWork():
        pass
    work = current_work()

    assert not work.is_limited
    work.step(MAX_INLINE_STEPS + 1)
    work.check_size(6, 5)
    assert [work.run(int, "1"), work.run(int, "2")] == [1, 2]
