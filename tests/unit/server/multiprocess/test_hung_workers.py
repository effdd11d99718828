"""Signs of life of workers."""

import asyncio
import time

import pytest

from apiext.server.multiprocess import hung_workers
from apiext.server.multiprocess.hung_workers import Heartbeat, HungWorkers
from apiext.server.multiprocess.scoreboard import Scoreboard
from apiext.server.multiprocess.worker_slot import WorkerSlot


class _Setting:
    """Two workers, of which the first one is alive."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self._now)
        self.scoreboard = Scoreboard(2)
        self.slots = [WorkerSlot(index, self.scoreboard, pid=100 + index, is_ready=True) for index in range(2)]
        self.watch = HungWorkers(self.slots, self.scoreboard)

    def look(self) -> list[int]:
        """Return the workers found at the next look."""
        self.scoreboard.beat(0)
        self._now = self.watch.wake_at
        return [slot.index for slot in self.watch.find()]


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> _Setting:
    """Create the workers."""
    return _Setting(monkeypatch)


def test_finds_a_worker_without_signs_once(setting: _Setting) -> None:
    """Find a worker after so many looks, and none between two of them."""
    assert [setting.look() for _ in range(12)] == [[]] * 9 + [[1], [], []]
    assert setting.watch.find() == []


def test_a_sign_clears_the_missed_looks(setting: _Setting) -> None:
    """Count missed looks again after a sign of life."""
    assert [setting.look() for _ in range(9)] == [[]] * 9
    setting.scoreboard.beat(1)

    assert [setting.look() for _ in range(10)] == [[]] * 9 + [[1]]


def test_replacements_and_starting_workers_are_not_late(setting: _Setting) -> None:
    """Count for each process apart, and only once it is ready."""
    assert [setting.look() for _ in range(9)] == [[]] * 9
    setting.slots[1].pid = 200
    assert [setting.look() for _ in range(9)] == [[]] * 9
    setting.slots[1].is_ready = False

    assert [setting.look() for _ in range(12)] == [[]] * 12


async def test_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give signs of life again and again until it is closed."""
    monkeypatch.setattr(hung_workers, "BEAT_SECONDS", 0.0)
    third = asyncio.Event()

    class CountedBeats(Scoreboard):
        def beat(self, worker: int) -> None:
            super().beat(worker)
            if self.beats(worker) == 3:
                third.set()

    scoreboard = CountedBeats(1)
    heart = Heartbeat(scoreboard, 0)
    await asyncio.wait_for(third.wait(), 60)
    heart.close()
    beats = scoreboard.beats(0)
    for _ in range(3):
        await asyncio.sleep(0)

    assert scoreboard.beats(0) == beats
