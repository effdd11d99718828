"""Tests of the figures of processes."""

import os
import subprocess
import sys

from hack.lib.servers.resources import cpu_seconds


def test_processor_time_of_ended_processes() -> None:
    """Count no time for a process that has ended, and once it has been waited for, its time for its parent."""
    before = cpu_seconds([os.getpid()])
    child = subprocess.Popen([sys.executable, "-c", "import time\nwhile time.process_time() < 0.1: pass"])
    child.wait()

    assert cpu_seconds([child.pid]) == 0
    assert cpu_seconds([os.getpid(), child.pid]) >= before + 0.05
