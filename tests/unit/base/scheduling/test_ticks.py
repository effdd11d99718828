"""Common times of periodic work."""

from types import SimpleNamespace

import pytest

from apiext.base.scheduling import ticks
from apiext.base.scheduling.ticks import until_tick


@pytest.mark.parametrize(
    "now, interval, until",
    [(100.0, 1, 101), (100.3, 1, 101), (100.999, 1, 102), (101.001, 1, 102), (100.3, 10, 110), (109.95, 10, 120), (0.5, 0.25, 0.75)],
    ids=["at a second", "between seconds", "just before one", "just after one", "longer", "just before a longer one", "shorter"],
)
async def test_sleeps_until_a_multiple_of_the_interval(monkeypatch: pytest.MonkeyPatch, now: float, interval: float, until: float) -> None:
    """End at the next multiple; a timer that fires a little early does not fire twice."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    loop = SimpleNamespace(time=lambda: now)
    monkeypatch.setattr(ticks, "asyncio", SimpleNamespace(get_running_loop=lambda: loop, sleep=sleep))

    await until_tick(interval)

    assert slept == [pytest.approx(until - now)]
