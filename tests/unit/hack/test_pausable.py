"""Tests of work in a thread that can be paused."""

import pytest

from hack.lib.pausable import Pausable


class _Counter(Pausable):
    """Counts until it is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = 0

    def _run(self) -> None:
        self.runs += 1
        self._ended.wait()


def test_goes_on_after_a_pause() -> None:
    """Run once for each start, end with the block, and take a second pause for none."""
    counter = _Counter()
    with counter:
        counter.pause()
        counter.pause()
        counter.start()

    assert counter.runs == 2
    assert not counter._thread.is_alive()


class _Failing(Pausable):
    def _run(self) -> None:
        raise ValueError("broken")


def test_raises_the_error_that_ended_the_work() -> None:
    """Raise the error of the thread once, when the work is paused."""
    failing = _Failing()
    failing.start()

    with pytest.raises(ValueError, match="broken"):
        failing.pause()
    failing.pause()
