"""Tests of Ctrl-C in commands that start servers: no signal is lost, and none ends code that holds a lock."""

import signal
from collections.abc import Iterator

import pytest

from hack.lib import interruption


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Restore the handlers of the test run."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class _Interrupted:
    """An object whose destructor a signal interrupts."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_raises_at_once(number: signal.Signals) -> None:
    """Raise KeyboardInterrupt where the signal arrives, also where it was ignored before."""
    signal.signal(number, signal.SIG_IGN)
    interruption.raise_at_once()

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_raises_in_the_next_sleep_only(number: signal.Signals) -> None:
    """Let the code go on until it sleeps, raise once for several signals, and sleep undisturbed afterwards."""
    interruption.raise_in_sleep()

    signal.raise_signal(number)
    signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        interruption.sleep(60)
    interruption.sleep(0)


def test_keeps_a_signal_that_arrives_in_a_destructor() -> None:
    """Raise KeyboardInterrupt for a signal whose own exception Python would print and drop."""
    interruption.raise_in_sleep()

    _Interrupted()

    with pytest.raises(KeyboardInterrupt):
        interruption.sleep(60)
