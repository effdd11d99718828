"""Long work in a thread."""

import asyncio
import os
import sys
import threading

import pytest

from apiext.base.scheduling.side_thread import aside, at_rest, with_short_turns


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


async def test_a_moment_of_rest() -> None:
    """Wait until no thread works, but not for ever."""
    ended, order = threading.Event(), list[str]()

    def work() -> None:
        ended.wait()
        order.append("thread")

    working = asyncio.ensure_future(aside(work))
    await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        await at_rest(lambda: order.append("too early"), 0.0)
    resting = asyncio.ensure_future(at_rest(lambda: order.append("rest"), 60.0))
    await asyncio.sleep(0)
    ended.set()
    await resting
    await working

    assert order == ["thread", "rest"]
