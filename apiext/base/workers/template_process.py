"""The template of worker processes: a process with their modules imported, which forks one in milliseconds whenever the server asks.

It has one thread and no event loop, so it may fork at any time. It is forked from the server itself once that has started, and shares its
memory; `python -m apiext.base.workers.template_process <file descriptor> [module]` replaces one that was lost.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import errors
from apiext.base.meta.limits import MAX_IDLE_WORKER_BYTES, MAX_SHORT_JOB_SECONDS, MAX_WORKER_BYTES
from apiext.base.workers.free_memory import FreeMemory
from apiext.base.workers.harmless_signals import ignore_harmless_signals
from apiext.base.workers.messages import receive_message, send_message
from apiext.base.workers.server_link import ServerLink

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from apiext.base.workers.messages import ProcessMessage

_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OOM_SCORE: Final = "500"
"""The kernel kills workers before the server if the machine runs out of memory."""


_NICENESS: Final = 5
"""Lower priority of long jobs: under load, the server's event loop gets three times their processor time."""


def run_jobs(connection: socket.socket) -> None:
    """Run jobs until the server closes the connection."""
    # the memory that a process shares with the server is not its own
    shared = _status_bytes("VmData:")
    limit = shared + MAX_WORKER_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    with asyncio.Runner() as runner:
        jobs = _Jobs(ServerLink(connection), runner)
        with suppress(EOFError, ConnectionError):
            while True:
                jobs.run_next()


def _end_with(connection: socket.socket) -> None:
    """End the process, even in the middle of a job, when the other end of the connection is closed."""
    poll = select.poll()
    poll.register(connection, getattr(select, "POLLRDHUP", 0) | select.POLLHUP)
    poll.poll()
    os._exit(0)


class _Jobs:
    """Runs the jobs of a process."""

    def __init__(self, link: ServerLink, runner: asyncio.Runner) -> None:
        self._link = link
        self._runner = runner
        self._memory = FreeMemory()
        self._most = _peak_bytes() + MAX_IDLE_WORKER_BYTES
        self._slow = False
        """Whether the process has a low priority, which it can never raise again."""
        signal.signal(signal.SIGPROF, self._slow_down)

    def run_next(self) -> None:
        """Wait for the next job, and run it.

        Raises:
            EOFError, ConnectionError: the server has ended.
        """
        try:
            job = self._link.next_job()
            signal.setitimer(signal.ITIMER_PROF, MAX_SHORT_JOB_SECONDS)
            try:
                result = self._runner.run(job.function(self._link, *job.args)) if job.asks else job.function(*job.args)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            self._link.report(result, leaving=self._is_used_up())
        except (EOFError, ConnectionError):
            raise
        except MemoryError:
            self._link.report_error(errors.too_large(f"processing it needs more than {MAX_WORKER_BYTES} bytes of memory"), leaving=True)
        except BaseException as error:  # noqa: BLE001 -- the server raises it
            self._link.report_error(error, leaving=self._is_used_up())
        self._memory.give_back()

    def _slow_down(self, *_: Any) -> None:
        """Leave the processor to shorter work: the job has used much of its time."""
        self._slow = True
        os.nice(_NICENESS)

    def _is_used_up(self) -> bool:
        """Report whether the process should end instead of waiting for a job: it has a low priority, or has used much memory."""
        return self._slow or _peak_bytes() > self._most


def _peak_bytes() -> int:
    """Return the peak memory of the process, in bytes."""
    # without /proc, it includes the server's memory, which the process shared in the beginning
    return _status_bytes("VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status_bytes(field: str) -> int:
    """Return a figure of /proc/self/status in bytes, 0 without it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(status.partition(field)[2].split(maxsplit=1)[0]) << 10


def main() -> None:
    """Serve as a template of its own: import and run what jobs need first, if a module is named."""
    ignore_signals()
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        for name in sys.argv[2:]:
            importlib.import_module(name).rehearse()
        serve_template(channel)


def ignore_signals() -> None:
    """Ignore signals to the process group, from terminals and service managers: the server ends its workers."""
    signal.set_wakeup_fd(-1)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ignore_harmless_signals()


def serve_template(channel: socket.socket) -> None:
    """Start and end workers as the server asks, until it closes the channel. Objects of this time are never collected."""
    _name_process("apiext-template")
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")
    # a collection in a worker would write to the pages of all objects, and would end that the processes share them
    gc.freeze()
    channel.setblocking(True)  # noqa: FBT003 -- the standard library's signature
    send_message(channel, "ready")
    workers: set[int] = set()
    while (message := receive_message(channel)) is not None:
        match message.kind:
            case "start":
                _start(channel, message, workers)
            case "end":
                _end(channel, message.fields["pid"], workers)


def _start(channel: socket.socket, message: ProcessMessage, workers: set[int]) -> None:
    number, descriptor = message.fields["id"], message.descriptor
    if descriptor is None:
        return
    try:
        pid = os.fork()
    except OSError as error:
        send_message(channel, "failed", id=number, errno=error.errno)
    else:
        if not pid:
            become(lambda: _work(channel, descriptor))
        workers.add(pid)
        send_message(channel, "started", id=number, pid=pid)
    finally:
        os.close(descriptor)


def _work(channel: socket.socket, descriptor: int) -> None:
    channel.close()
    _name_process("apiext-worker")
    with socket.socket(fileno=descriptor) as connection:
        run_jobs(connection)


def _end(channel: socket.socket, pid: int, workers: set[int]) -> None:
    """Kill a worker, which may have ended, and tell its exit status: the negative number of a signal, if one ended it."""
    if pid not in workers:
        return
    workers.remove(pid)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    send_message(channel, "ended", pid=pid, status=os.waitstatus_to_exitcode(status))


def become(work: Callable[[], None]) -> NoReturn:
    """Do the work of a new process, and end the process."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 -- the process ends here
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _name_process(name: str) -> None:
    """Set the name that `ps` shows."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name, encoding="ascii")


if __name__ == "__main__":
    main()
