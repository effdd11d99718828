"""Commands that clean up when they are interrupted."""

import asyncio
import os
import signal

import click
import pytest

from apiext.cli.releases.interruptible import run_interruptible


def test_returns_the_result() -> None:
    """Return what the coroutine returns."""

    async def work() -> int:
        return 3

    assert run_interruptible(work()) == 3


def test_cleans_up() -> None:
    """Cancel the coroutine after SIGTERM, which then cleans up."""
    done: list[bool] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)
        finally:
            done.append(True)

    with pytest.raises(click.exceptions.Abort):
        run_interruptible(work())
    assert done == [True]
