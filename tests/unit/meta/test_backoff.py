"""Pauses between attempts."""

import asyncio

import pytest

from apiext.meta.backoff import Backoff


def test_pauses_grow() -> None:
    """Each is twice the one before, none is longer than the longest, and after a success they begin anew."""
    backoff = Backoff(0.5, 3.0)
    taken = [backoff.take() for _ in range(5)]

    assert taken == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff.next == 3.0
    backoff.reset()
    assert [backoff.next, backoff.take(), backoff.next] == [0.5, 0.5, 1.0]


async def test_they_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause takes the seconds that were named before."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    backoff = Backoff(1.0, 2.0)
    for _ in range(3):
        await backoff.pause()

    assert waited == [1.0, 2.0, 2.0]
