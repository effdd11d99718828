"""Rate limiting work queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import RequeueError, WorkQueue
from tests.support.captured_logs import logged
from tests.support.event_loop import until


class Recorder:
    """Records the keys that are processed; each sync waits until the gate is open, then raises the next error."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.errors: list[Exception] = []
        self.after: float | None = None

    async def sync(self, key: str) -> float | None:
        """Implement workqueue.Sync."""
        self.keys.append(key)
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        return self.after


@asynccontextmanager
async def running(recorder: Recorder, *, workers: int = 1) -> AsyncIterator[WorkQueue]:
    """Run a queue for a recorder; OSError is its expected failure."""
    log = get_logger(__name__)
    queue = WorkQueue(
        recorder.sync, log=log, event="failed, retrying", key_field="name", retryable=(OSError,), workers=workers, pauses=(0.001, 0.01)
    )
    task = asyncio.create_task(queue.run())
    try:
        yield queue
    finally:
        await end_tasks(task)


async def test_processes_a_key_once_that_is_added_often() -> None:
    """Process a key once for all additions before its turn, and once more for all additions during it."""
    recorder = Recorder()
    recorder.gate.clear()
    async with running(recorder, workers=2) as queue:
        for _ in range(5):
            queue.add("a")
        await until(lambda: recorder.keys == ["a"])
        for _ in range(5):
            queue.add("a")
        queue.add("b")
        await until(lambda: recorder.keys == ["a", "b"])
        recorder.gate.set()
        await queue.join()

    assert recorder.keys == ["a", "b", "a"]


async def test_processes_keys_in_order_with_one_worker() -> None:
    """Process keys one after the other, in the order of their addition, with one worker."""
    recorder = Recorder()
    recorder.gate.clear()
    async with running(recorder) as queue:
        for key in "abc":
            queue.add(key)
        await until(lambda: recorder.keys == ["a"])
        recorder.gate.set()
        await queue.join()

    assert recorder.keys == ["a", "b", "c"]


async def test_retries_failed_keys(caplog: pytest.LogCaptureFixture) -> None:
    """Retry a key after expected and unexpected exceptions, which are logged, and after RequeueError, which is not."""
    recorder = Recorder()
    recorder.errors = [OSError("no"), RuntimeError("defect"), RequeueError()]
    async with running(recorder) as queue:
        queue.add("a")
        await until(lambda: len(recorder.keys) == 4)
        await queue.join()

    assert [(line["event"], line["name"]) for line in logged(caplog)] == [("failed, retrying", "a")] * 2
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


async def test_backoff_grows_until_forgotten() -> None:
    """Double the pause with each rate-limited addition up to the longest one, and begin anew after forget."""
    recorder = Recorder()
    queue = WorkQueue(recorder.sync, log=get_logger(__name__), event="", key_field="name", retryable=(), pauses=(1.0, 4.0))
    pauses = [queue.add_rate_limited("a") for _ in range(200)][:4]
    queue.forget("a")
    pauses.append(queue.add_rate_limited("a"))

    assert all(least <= pause <= least * 1.2 for least, pause in zip([1, 2, 4, 4, 1], pauses, strict=True))


async def test_processes_a_key_again_after_the_returned_delay() -> None:
    """Process a key again after the delay that its sync function returns."""
    recorder = Recorder()
    recorder.after = 0.0
    async with running(recorder) as queue:
        queue.add("a")
        await until(lambda: len(recorder.keys) >= 3)


async def test_earliest_delay_wins() -> None:
    """Add a delayed key once, at the earliest of its times; an immediate addition cancels the delay."""
    recorder = Recorder()
    async with running(recorder) as queue:
        queue.add_after("a", 60.0)
        queue.add_after("a", 0.0)
        queue.add_after("a", 60.0)
        await until(lambda: recorder.keys == ["a"])
        queue.add_after("b", 0.001)
        queue.add("b")
        await until(lambda: recorder.keys == ["a", "b"])
        queue.add_after("c", 0.01)
        await until(lambda: recorder.keys[-1] == "c")

    assert recorder.keys == ["a", "b", "c"]


async def test_cancels_work_when_it_ends() -> None:
    """Cancel sync functions under way when the queue is cancelled, and accept no key afterwards."""
    recorder = Recorder()
    recorder.gate.clear()
    async with running(recorder, workers=2) as queue:
        queue.add("a")
        await until(lambda: recorder.keys == ["a"])
        queue.add_after("b", 0.0)
    queue.add("c")
    queue.add_after("d", 0.0)
    await asyncio.sleep(0)

    assert recorder.keys == ["a"]
