"""Long work in a thread."""

import os
import sys
import threading

import pytest

from apiext.base.scheduling.side_thread import aside, with_short_turns


async def test_a_thread_works() -> None:
    """The work has a thread, which leaves the interpreter to the event loop more often than usual."""
    before = sys.getswitchinterval()

    name, interval = await aside(lambda: (threading.current_thread().name, sys.getswitchinterval()))

    assert name.startswith("aside")
    assert interval < before == sys.getswitchinterval()


async def test_threads_that_overlap() -> None:
    """The interval is short until the last thread ends, whichever began first, and in a forked process it is the usual one."""
    before = sys.getswitchinterval()
    short, ended = threading.Event(), threading.Event()

    def first() -> None:
        short.set()
        ended.wait()

    thread = threading.Thread(target=with_short_turns, args=(first,))
    thread.start()
    short.wait()

    def second() -> float:
        ended.set()
        thread.join()
        return sys.getswitchinterval()

    def in_child() -> int:
        child = os.fork()
        if child == 0:
            os._exit(int(sys.getswitchinterval() != before))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert with_short_turns(in_child) == 0
    assert with_short_turns(second) < before
    assert sys.getswitchinterval() == before


async def test_errors() -> None:
    """The caller gets the work's error."""
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 // 0)
