"""The profile of an event loop."""

import asyncio
import time
from typing import Any

from hack.lib.loop_profile import ProfiledLoop


def _hold(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_reports_turns_that_take_long() -> None:
    """Report a turn that takes processor time, with the stack that took it, and none that sleeps."""
    turns: list[dict[str, Any]] = []

    async def main() -> None:
        await asyncio.sleep(0.05)
        _hold(0.1)
        await asyncio.sleep(0.05)

    with asyncio.Runner(loop_factory=lambda: ProfiledLoop(turns.append, limit=0.05)) as runner:
        runner.run(main())

    assert len(turns) == 1
    assert turns[0]["ms"] >= 100
    assert "_hold" in turns[0]["stacks"][0][0]
