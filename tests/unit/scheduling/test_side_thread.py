"""Long work in a thread."""

import sys
import threading

import pytest

from apiext.scheduling.side_thread import aside


async def test_a_thread_works() -> None:
    """The work has a thread, which leaves the interpreter to the event loop more often than usual."""
    before = sys.getswitchinterval()

    name, interval = await aside(lambda: (threading.current_thread().name, sys.getswitchinterval()))

    assert name.startswith("aside")
    assert interval < before == sys.getswitchinterval()


async def test_errors() -> None:
    """The caller gets the work's error."""
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 // 0)
