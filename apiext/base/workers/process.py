"""The work of a worker process: it runs one job after the other, and ends with the server, even after a crash."""

from __future__ import annotations

import asyncio
import os
import resource
import select
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import errors
from apiext.base.meta.limits import MAX_IDLE_WORKER_BYTES, MAX_SHORT_JOB_SECONDS, MAX_WORKER_BYTES
from apiext.base.workers.free_memory import FreeMemory
from apiext.base.workers.server_link import ServerLink

if TYPE_CHECKING:
    import socket

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
