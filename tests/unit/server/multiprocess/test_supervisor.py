"""The supervisor of workers, in a process of its own: it forks and handles signals."""

import subprocess
import sys
from typing import Final

_SCRIPT: Final = """
import errno, os, signal, sys, time
from apiext.server.http.server import listen
from apiext.server.multiprocess import hung_workers
from apiext.base.workers.messages import receive_message, send_message
from apiext.server.multiprocess.scoreboard import MetricsLedger
from apiext.server.multiprocess.scoreboard import Scoreboard
from apiext.server.multiprocess.supervisor import SharedState, Supervisor
from apiext.server.routes.process_role import SharedLog
from apiext.server.start_error import StartError

hung_workers.LOOK_SECONDS = 0.01
scoreboard = Scoreboard(1)
shared = SharedState(scoreboard, MetricsLedger(1, scoreboard), SharedLog(-1, -1))
fork, forks = os.fork, []


def become(index, ends):
    if scoreboard.replaced:
        # it hangs only once it is ready
        os.kill(os.getppid(), signal.SIGTERM)
        ends.control.setblocking(True)
        return 0 if receive_message(ends.control).kind == "stop" else 1
    send_message(ends.control, "ready", facts={{"address": "here"}})
    time.sleep(600)


def unreliable_fork():
    forks.append(None)
    if len(forks) in {refused}:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return fork()


os.fork = unreliable_fork
supervisor = Supervisor(listen("127.0.0.1", 0), 1, shared, become, started=lambda facts: print(facts["address"]))
try:
    supervisor.run()
except StartError as error:
    print("refused:", error)
print(len(forks), scoreboard.replaced)
"""


def _run(refused: set[int]) -> subprocess.CompletedProcess[str]:
    """Run a supervisor whose worker hangs and whose replacement stops the server. Let some forks fail, counted from 1."""
    script = _SCRIPT.format(refused=refused or "()")
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)


def test_a_hung_worker_is_replaced() -> None:
    """Kill a worker that gives no sign of life, and start it again."""
    ended = _run(set())

    assert ended.stdout == "here\n2 1\n"
    assert ended.stderr.splitlines() == ["worker hangs, killing it", "worker ended, starting it again"]


def test_a_replacement_waits_for_the_system() -> None:
    """Try again while no process can be forked: the other workers serve on."""
    ended = _run({2, 3})

    assert ended.stdout == "here\n4 1\n"
    assert ended.stderr.count("worker not started, retrying") == 2


def test_a_start_without_a_process() -> None:
    """Refuse to start if the system has no process for a worker."""
    assert _run({1}).stdout == "refused: cannot start worker 1: Resource temporarily unavailable\n1 0\n"
