"""Commands that clean up when they are interrupted."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import click
import pytest

from apiext.cli.releases.interruptible import interruptible, run_interruptible


def test_returns_the_result() -> None:
    """Return what the coroutine returns."""

    async def work() -> int:
        return 3

    assert run_interruptible(work()) == 3


def test_cleans_up() -> None:
    """Cancel the coroutine after SIGTERM, which then cleans up; more signals do not end that."""
    done: list[bool] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            for _ in range(10):
                # turns of the loop, of which the first hears the signal
                await asyncio.sleep(0)
            done.append(True)

    with pytest.raises(click.exceptions.Abort):
        run_interruptible(work())
    assert done == [True]


def test_sigterm_ends_a_block(tmp_path: Path) -> None:
    """End the work of a block, let it delete its files, and handle later signals as before."""
    before = signal.getsignal(signal.SIGTERM)

    with pytest.raises(click.exceptions.Abort), interruptible(), tempfile.TemporaryDirectory(dir=tmp_path):
        os.kill(os.getpid(), signal.SIGTERM)

    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before
