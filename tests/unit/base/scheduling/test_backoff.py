"""Exponential backoff."""

import asyncio

import pytest

from apiext.base.scheduling.backoff import Backoff


def test_pauses_grow() -> None:
    """Double the pause each time up to the longest one, and start again after a reset."""
    backoff = Backoff(0.5, 3.0)
    taken = [backoff.take() for _ in range(5)]

    assert taken == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff.next == 3.0
    backoff.reset()
    assert [backoff.next, backoff.take(), backoff.next] == [0.5, 0.5, 1.0]


async def test_sleeps_for_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleep for the seconds of the current pause."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    backoff = Backoff(1.0, 2.0)
    for _ in range(3):
        await backoff.pause()

    assert waited == [1.0, 2.0, 2.0]
