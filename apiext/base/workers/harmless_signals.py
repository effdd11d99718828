"""Signals that end a program of Python, and not one of Go.

Mirrors the signals that Go's runtime ignores unless the program asks for them (runtime/sigtab_linux_generic.go): kube-apiserver goes on.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

HARMLESS: Final = (
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGIO,
    signal.SIGXCPU,
    *([signal.SIGPWR] if hasattr(signal, "SIGPWR") else ()),
)


def ignore_harmless_signals() -> None:
    """Let none of these signals end the process. Programs that it starts have their own actions for them."""
    for number in HARMLESS:
        # SIG_IGN would be inherited by credential plugins
        signal.signal(number, _go_on)


def _go_on(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
