"""The template of worker processes: a process with their modules imported, which forks one in milliseconds whenever the server asks.

It has one thread and no event loop, so it may fork at any time. It is forked from the server itself once that has started, and shares its
memory; `python -m apiext.base.workers.template_process <file descriptor> [module]` replaces one that was lost.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.base.workers.harmless_signals import ignore_harmless_signals
from apiext.base.workers.messages import receive_message, send_message
from apiext.base.workers.process import run_jobs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from apiext.base.workers.messages import ProcessMessage

_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OOM_SCORE: Final = "500"
"""The kernel kills workers before the server if the machine runs out of memory."""


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
