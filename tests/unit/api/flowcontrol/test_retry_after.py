"""The wait that rejected requests are asked for."""

from apiext.api.flowcontrol.retry_after import RetryAfter


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def after(wait: RetryAfter, clock: Seconds, rejections: int) -> int:
    """Return the wait after a second with some rejections."""
    for _ in range(rejections):
        wait.record()
    clock.now += 1
    return wait.record()


def test_doubles_and_shrinks() -> None:
    """Ask for one second at first; double the wait while many are rejected, up to 32 s, and shrink it when few are."""
    clock = Seconds()
    wait = RetryAfter(clock)

    assert wait.record() == 1
    assert after(wait, clock, 1) == 1
    assert after(wait, clock, 3) == 2
    # not twice within the wait
    assert after(wait, clock, 100) == 2
    assert after(wait, clock, 100) == 4
    grown = [after(wait, clock, 200) for _ in range(100)]
    assert max(grown) == grown[-1] == 32

    clock.now += 40
    assert [after(wait, clock, 0) for _ in range(3)] == [31, 30, 29]


def test_few_rejections_do_not_count() -> None:
    """Keep the wait while single requests are rejected."""
    clock = Seconds()
    wait = RetryAfter(clock)

    assert {after(wait, clock, 1) for _ in range(50)} == {1}
