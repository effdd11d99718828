"""Values that take long to make."""

import threading

import pytest

from apiext.base.scheduling.inline_work import Deferred, HeavyWorkError, InlineWork
from hack.lib.waiting import until


def test_makes_a_value_once() -> None:
    """Make a value when it is first needed, and keep it."""
    deferred = Deferred(object)

    with InlineWork():
        made = deferred.get()
    assert deferred.get() is made


def test_makes_large_values_in_a_thread() -> None:
    """Make a large value once, in a thread; refuse to wait for it on the event loop."""
    begun, proceed, threads = threading.Event(), threading.Event(), []

    def make() -> int:
        threads.append(threading.current_thread())
        begun.set()
        proceed.wait()
        return 5

    deferred = Deferred(make, size=2)

    with InlineWork(), pytest.raises(HeavyWorkError):
        deferred.get()
    begun.wait()
    with InlineWork(), pytest.raises(HeavyWorkError):
        deferred.get()
    proceed.set()
    until(lambda: deferred.is_made)
    with InlineWork():
        assert deferred.get() == 5
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


def test_makes_huge_values_in_worker_processes_only() -> None:
    """Make a huge value only where time has no limit."""
    deferred = Deferred(lambda: 5, size=2, is_huge=True)

    with InlineWork(), pytest.raises(HeavyWorkError):
        deferred.get()
    assert not deferred.is_made
    assert deferred.get() == 5
