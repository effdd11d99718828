"""The main program of a worker process: `python -m apiext.workers.process <file descriptor>`.

It runs one job after the other, and ends with the server, even after a crash.
"""

from __future__ import annotations

import asyncio
import os
import resource
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from apiext.meta import errors
from apiext.meta.limits import MAX_IDLE_WORKER_BYTES, MAX_WORKER_BYTES
from apiext.workers.free_memory import FreeMemory
from apiext.workers.harmless_signals import ignore_harmless_signals
from apiext.workers.server_link import ServerLink

_NICENESS: Final = 5
"""Lower priority than the server: under load, its event loop gets three times the processor time of a worker."""
_OOM_SCORE: Final = "500"
"""The kernel kills workers before the server if the machine runs out of memory."""


def main() -> None:
    """Run jobs until the server closes the connection."""
    # Ignore signals to the process group, from terminals and service managers: the server ends its workers.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ignore_harmless_signals()
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_WORKER_BYTES, MAX_WORKER_BYTES))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")
    with socket.socket(fileno=int(sys.argv[1])) as connection, asyncio.Runner() as runner:
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        link, memory = ServerLink(connection), FreeMemory()
        with suppress(EOFError, ConnectionError):
            while True:
                _run_next(link, runner)
                memory.give_back()


def _end_with(connection: socket.socket) -> None:
    """End the process, even in the middle of a job, when the other end of the connection is closed."""
    poll = select.poll()
    poll.register(connection, getattr(select, "POLLRDHUP", 0) | select.POLLHUP)
    poll.poll()
    os._exit(0)


def _run_next(link: ServerLink, runner: asyncio.Runner) -> None:
    try:
        job = link.next_job()
        result = runner.run(job.function(link, *job.args)) if job.asks else job.function(*job.args)
        link.report(result, leaving=_is_large())
    except (EOFError, ConnectionError):
        raise
    except MemoryError:
        link.report_error(errors.too_large(f"processing it needs more than {MAX_WORKER_BYTES} bytes of memory"), leaving=True)
    except BaseException as error:  # noqa: BLE001 -- the server raises it
        link.report_error(error, leaving=_is_large())


def _is_large() -> bool:
    """Report whether the process has used so much memory that it should end instead of waiting for a job."""
    return _peak_bytes() > MAX_IDLE_WORKER_BYTES


def _peak_bytes() -> int:
    """Return the peak memory of the process, in bytes."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        # it includes the server's memory, which the process shared before its program began
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) << 10


if __name__ == "__main__":
    main()
