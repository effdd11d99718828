"""Child processes of tests and commands: start, wait until ready, signal, stop. None outlives the parent process."""

import abc
import atexit
import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from hack.lib.interruption import sleep
from hack.lib.servers import port_locks

_POLL: Final = 0.05
"""Seconds between two readiness checks."""
_GRACE: Final = 15.0
"""Seconds that a service may take to end after SIGTERM."""
_PORTS: Final = range(12_000, 32_000)
"""Ports below Linux's range for clients (32768-60999)."""
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


class ProcessError(Exception):
    """A program did not start, did not become ready, or exited on its own. The message ends with its last output."""


class Process:
    """One program whose output goes to a log file. It can be started again after it has ended.

    On Linux the kernel kills the program when the main thread that started it ends. Elsewhere, or when another thread
    starts it, an atexit handler kills it. The program starts with the default handlers of SIGINT and SIGTERM, also where
    the parent ignores them.
    """

    def __init__(self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.command = [str(part) for part in command]
        self.name = Path(self.command[0]).name
        self.log = log
        self._env = None if env is None else dict(env)
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Return the process id.

        Raises:
            ProcessError: the program has not been started.
        """
        if self._popen is None:
            raise ProcessError(f"{self.name} has not been started")
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Report whether the program is running."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start the program and append its output to the log.

        Raises:
            ProcessError: The program is already running.
        """
        if self.running:
            raise ProcessError(f"{self.name} is already running")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        on_main = threading.current_thread() is threading.main_thread()
        with self.log.open("ab") as output:
            self._popen = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
                preexec_fn=_prepare_child if on_main and _LIBC else None,  # noqa: PLW1509 -- system calls only, libc is loaded
            )
        atexit.register(self.kill)

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait until `ready` returns true; an OSError that it raises counts as false.

        Raises:
            ProcessError: The program exited, or is not ready after `timeout` seconds; it is killed then.
        """
        deadline = time.monotonic() + timeout
        while True:
            if not self.running:
                raise ProcessError(f"{self.name} ended with {self.code()}: {self.tail()}")
            with contextlib.suppress(OSError):
                if ready():
                    return
            if time.monotonic() > deadline:
                self.kill()
                raise ProcessError(f"{self.name} is not ready after {timeout:.0f} s: {self.tail()}")
            sleep(_POLL)

    def stop(self, grace: float = 10.0) -> None:
        """Send SIGTERM, and SIGKILL after `grace` seconds. Do nothing if the program is not running."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        if self._popen is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(grace)
        self.kill()

    def kill(self) -> None:
        """Send SIGKILL and reap the program."""
        self.signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()
        atexit.unregister(self.kill)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if the program is running."""
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(number)

    def pause(self) -> None:
        """Stop the program with SIGSTOP, and wait until all its threads have stopped. Its connections stay open."""
        if self.running:
            self.signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Continue the program after `pause`."""
        self.signal(signal.SIGCONT)

    def tail(self, lines: int = 5) -> str:
        """Return the last lines of the log."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def code(self) -> int | None:
        """Return the exit code, None before the end."""
        return None if self._popen is None else self._popen.poll()


class Service(abc.ABC):
    """A server of one process. Its address and data survive a restart."""

    process: Process
    patience: float
    """Seconds that the server may take to become ready."""

    @abc.abstractmethod
    def ready(self) -> bool:
        """Report whether the server is ready.

        Raises:
            OSError: Nothing listens on its address.
        """

    def start(self) -> Self:
        """Start the server and return when it is ready.

        Raises:
            ProcessError: The server exited or did not become ready in time.
        """
        self.process.start()
        self.process.wait_until(self.ready, self.patience)
        return self

    def stop(self) -> None:
        """Stop the server gracefully with SIGTERM."""
        self.process.stop(_GRACE)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self.process.kill()

    def restart(self) -> None:
        """Stop the server gracefully and start it again on the same port with the same data."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()


def free_port() -> int:
    """Return a TCP port of the loopback address that nothing listens on, reserved for this process.

    The port is outside the range from which the kernel assigns client ports, so that no client takes it before the
    server listens.
    """
    while True:
        port = secrets.choice(_PORTS)
        if not port_locks.reserve(port):
            continue
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def environment(**values: str) -> dict[str, str]:
    """Return an environment with PATH, HOME and the given values: no proxy settings, no KUBECONFIG."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/")} | values


def _prepare_child() -> None:
    """Ask the kernel to kill the child with its parent, and restore the signals that the parent ignores (nohup, some CI systems)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
