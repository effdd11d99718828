"""The limited time of requests on the event loop."""

from collections.abc import Iterator

import pytest

from apiext.meta.limits import MAX_INLINE_SECONDS
from apiext.scheduling.inline_work import HeavyWorkError, InlineWork, inline_work


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Advance the clock by the limit with each look at it."""
    ticks = (number * MAX_INLINE_SECONDS for number in range(100))
    with monkeypatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: next(ticks))
        yield


def test_stops_when_the_time_is_used() -> None:
    """Finish the work that is running at the limit, and refuse more of the same request, also after an error."""
    assert inline_work() is None
    with InlineWork():
        work = inline_work()
        assert work is not None
        with pytest.raises(ValueError, match="invalid literal"):
            work.run(int, "x")
        with pytest.raises(HeavyWorkError):
            work.run(int, "1")
    assert inline_work() is None
    assert work.run(int, "1") == 1
