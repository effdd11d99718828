"""Signals that programs of Go ignore, in a process of their own."""

import signal
import subprocess
import sys
from typing import Final

from apiext.base.workers.harmless_signals import HARMLESS

_SCRIPT: Final = """
import os, subprocess, sys
from apiext.base.workers.harmless_signals import HARMLESS, ignore_harmless_signals
ignore_harmless_signals()
for number in HARMLESS:
    os.kill(os.getpid(), number)
print(subprocess.run(["sh", "-c", "kill -USR1 $$; sleep 60"]).returncode)
"""


def test_goes_on() -> None:
    """Outlive every such signal; leave their actions in other programs as they are."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == f"{-signal.SIGUSR1}\n"
    assert {signal.SIGUSR1, signal.SIGUSR2} < set(HARMLESS)
