"""Ctrl-C and SIGTERM in commands that start servers."""

import signal
import time
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []
"""Signals that no `sleep` has noticed yet."""


def raise_at_once() -> None:
    """Raise KeyboardInterrupt in the main thread whenever a signal arrives, also where the parent process ignores SIGINT.

    Python installs no handler of SIGINT then, as in background jobs of shells and in some CI systems.
    """
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)


def raise_in_sleep() -> None:
    """Raise KeyboardInterrupt in the next `sleep` after a signal, and nowhere else.

    An exception between any two instructions can leave a lock of `subprocess` taken or a started program unknown; raised in
    a destructor it is lost.
    """
    _received.clear()
    for number in _SIGNALS:
        signal.signal(number, _note)


def sleep(seconds: float) -> None:
    """Sleep for the whole time, even if a signal arrives.

    Raises:
        KeyboardInterrupt: a signal arrived since `raise_in_sleep` or since the last KeyboardInterrupt.
    """
    if not _received:
        time.sleep(seconds)
    if _received:
        _received.clear()
        raise KeyboardInterrupt


def _note(number: int, _frame: FrameType | None) -> None:
    _received.append(number)
