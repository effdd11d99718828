"""Tests of child processes: start, readiness, stop and error messages."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hack.lib.servers.process import Process, ProcessError, environment, free_port

ROOT = Path(__file__).resolve().parents[3]


def python(code: str, log: Path) -> Process:
    """Return a Python program."""
    return Process([sys.executable, "-c", code], log)


def test_an_exited_program_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    """Raise the exit code and last lines of a program that exited during the wait."""
    process = python("import sys; sys.exit('no such flag')", tmp_path / "log")
    process.start()

    with pytest.raises(ProcessError, match="ended with 1: no such flag"):
        process.wait_until(lambda: False, timeout=20)


def test_a_program_that_is_not_ready_is_killed(tmp_path: Path) -> None:
    """Kill a program that does not become ready in time."""
    process = python("import time; time.sleep(60)", tmp_path / "log")
    process.start()

    with pytest.raises(ProcessError, match="is not ready after 0 s"):
        process.wait_until(lambda: False, timeout=0)
    assert not process.running


def test_a_program_can_be_started_again(tmp_path: Path) -> None:
    """Start a stopped program again as another process."""
    process = python("import time; time.sleep(60)", tmp_path / "log")
    process.start()
    first = process.pid
    process.stop()

    process.start()

    assert process.running
    assert process.pid != first
    process.kill()
    assert not process.running


def test_a_program_runs_once(tmp_path: Path) -> None:
    """Raise ProcessError for a second start, and for the id of a program that was never started."""
    process = python("import time; time.sleep(60)", tmp_path / "log")
    with pytest.raises(ProcessError, match="has not been started"):
        _ = process.pid
    process.start()

    with pytest.raises(ProcessError, match="already running"):
        process.start()
    process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the states of threads from /proc")
def test_a_paused_program_stands_still(tmp_path: Path) -> None:
    """Return from a pause when no thread of the program runs any more, and continue the program afterwards."""
    process = python(
        "import threading\nfor _ in range(8):\n  threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()", tmp_path / "log"
    )
    process.start()
    tasks = Path(f"/proc/{process.pid}/task")
    try:
        process.wait_until(lambda: len(list(tasks.iterdir())) == 9, timeout=20)
        for _ in range(20):
            process.pause()
            assert {_state(task) for task in tasks.iterdir()} == {"T"}
            process.resume()
            assert "T" not in {_state(task) for task in tasks.iterdir()}
    finally:
        process.kill()
    process.pause()


def _state(task: Path) -> str:
    """Return the letter of a thread's state."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_a_program_dies_with_its_parent(tmp_path: Path) -> None:
    """End the program when its parent is killed with kill -9."""
    code = f"""
import sys, time
from pathlib import Path
from hack.lib.servers.process import Process
process = Process([sys.executable, "-c", "import time; time.sleep(60)"], Path({str(tmp_path / "log")!r}))
process.start()
print(process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, env=environment(PYTHONPATH=str(ROOT))) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        descriptor = os.pidfd_open(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()

    assert _ended(descriptor)


def _ended(descriptor: int) -> bool:
    """Wait until the process behind the descriptor has ended."""
    readable, _, _ = select.select([descriptor], [], [], 30)
    os.close(descriptor)
    return bool(readable)


def test_free_ports_can_be_listened_on() -> None:
    """Return unprivileged ports."""
    assert free_port() > 1023


def test_the_environment_is_bare() -> None:
    """Pass PATH, HOME and the given values to a program, without KUBECONFIG or proxies."""
    assert set(environment(EXTRA="1")) == {"PATH", "HOME", "EXTRA"}
