"""How often the same object is written."""

from apiext.operator.conversionserver.installation import MAX_WRITES, PERIOD_SECONDS, WriteLimit
from tests.support.event_loop import Clock


def test_limits_the_writes_of_a_period() -> None:
    """Allow some writes of each object, then wait until the oldest is a period old."""
    clock = Clock()
    limit = WriteLimit(clock)
    for _ in range(MAX_WRITES):
        assert limit.wait("a") == 0
        limit.note("a")
        clock.now += 1

    assert limit.wait("a") == PERIOD_SECONDS - MAX_WRITES
    assert limit.wait("b") == 0
    clock.now += PERIOD_SECONDS - MAX_WRITES
    assert limit.wait("a") == 0
    limit.note("a")
    limit.forget("a")
    limit.note("a")
    assert limit.wait("a") == 0
