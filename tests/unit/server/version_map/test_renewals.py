"""Renewals of the version map, which all readers share."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from apiext.base.scheduling.tasks import end_tasks
from apiext.server.version_map import renewals as module
from apiext.server.version_map.renewals import Renewals
from tests.support.event_loop import until


class _Map:
    """Counts its renewals, and holds them while `free` is not set."""

    def __init__(self) -> None:
        self.begun = 0
        self.free = asyncio.Event()
        self.free.set()
        self.error: Exception | None = None
        self.renewals = Renewals(self._renew)

    async def _renew(self) -> None:
        self.begun += 1
        await self.free.wait()
        if self.error is not None:
            raise self.error


@pytest.fixture
async def renewed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_Map]:
    """Provide a map whose timers never end within a test: it is renewed only when a caller waits for new data."""
    monkeypatch.setattr(module, "TICK_SECONDS", 3600.0)
    monkeypatch.setattr(module, "DEBOUNCE_SECONDS", 3600.0)
    found = _Map()
    running = asyncio.create_task(found.renewals.run())
    yield found
    found.renewals.stop()
    await end_tasks(running)


async def _ask(renewed: _Map, readers: int) -> asyncio.Future[list[None]]:
    """Let readers wait for a current map."""
    asked = asyncio.gather(*(renewed.renewals.current() for _ in range(readers)))
    await asyncio.sleep(0)
    return asked


async def test_readers_share_a_renewal(renewed: _Map) -> None:
    """Renew once for all that ask before the first renewal and after a change, and not for those that ask again."""
    counts = []
    for _ in range(2):
        await (await _ask(renewed, 20))
        await (await _ask(renewed, 20))
        counts.append(renewed.begun)
        renewed.renewals.note()

    assert counts == [1, 2]


async def test_a_change_during_a_renewal_needs_another_one(renewed: _Map) -> None:
    """Wait for the renewal under way if nothing has changed since, else for one that begins later."""
    renewed.free.clear()
    early = await _ask(renewed, 1)
    await until(lambda: renewed.begun == 1)
    unchanged = await _ask(renewed, 3)
    renewed.renewals.note()
    changed = await _ask(renewed, 3)
    renewed.free.set()
    await early
    await unchanged
    await changed
    assert renewed.begun == 2


async def test_failures_and_the_end_keep_nobody_waiting(renewed: _Map) -> None:
    """Answer with the last state after a failed renewal, and at the end."""
    renewed.error = RuntimeError("failed")
    await (await _ask(renewed, 2))
    renewed.free.clear()
    renewed.renewals.note()
    waiting = await _ask(renewed, 2)
    renewed.renewals.stop()
    await waiting
