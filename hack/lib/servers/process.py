"""A program that a test starts, waits for and ends; it never outlives the test run."""

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

_POLL: Final = 0.05
_GRACE: Final = 15.0
_PORTS: Final = range(12_000, 32_000)
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


class ProcessError(Exception):
    """A program did not start, did not become ready, or ended by itself; the message ends with its last output."""


class Process:
    """One program with its output in a file. It can be started again after it has ended.

    On Linux the kernel kills it with the thread that started it, where that is the main thread; elsewhere it is killed
    when the interpreter exits.
    """

    def __init__(self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.command = [str(part) for part in command]
        self.name = Path(self.command[0]).name
        self.log = log
        self._env = None if env is None else dict(env)
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id.

        Raises:
            ProcessError: the program has not been started.
        """
        if self._popen is None:
            raise ProcessError(f"{self.name} has not been started")
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether the program runs now."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start the program; its output is added to the log."""
        if self.running:
            raise ProcessError(f"{self.name} runs already")
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
                preexec_fn=_die_with_parent if on_main and _LIBC else None,  # noqa: PLW1509 -- one system call, loaded before
            )
        atexit.register(self.kill)

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait until `ready` returns true; an OSError of it means not yet.

        Raises:
            ProcessError: the program ended, or is not ready after `timeout` seconds; then it is killed.
        """
        deadline = time.monotonic() + timeout
        while True:
            if not self.running:
                raise ProcessError(f"{self.name} ended with {self._code()}: {self.tail()}")
            with contextlib.suppress(OSError):
                if ready():
                    return
            if time.monotonic() > deadline:
                self.kill()
                raise ProcessError(f"{self.name} is not ready after {timeout:.0f} s: {self.tail()}")
            time.sleep(_POLL)

    def stop(self, grace: float = 10.0) -> None:
        """Ask the program to end, and kill it after `grace` seconds. Does nothing where it does not run."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        if self._popen is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(grace)
        self.kill()

    def kill(self) -> None:
        """End the program at once and reap it."""
        self.signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()
        atexit.unregister(self.kill)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal where the program runs; SIGSTOP and SIGCONT make it answer late."""
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(number)

    def tail(self, lines: int = 5) -> str:
        """The last lines of the output."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _code(self) -> int | None:
        return None if self._popen is None else self._popen.poll()


class Service(abc.ABC):
    """A server of one process; its address and data stay the same when it is started again."""

    process: Process
    patience: float
    """Seconds that it may take to answer."""

    @abc.abstractmethod
    def ready(self) -> bool:
        """Whether it serves. Raises OSError while nothing answers."""

    def start(self) -> Self:
        """Start it and return when it is ready.

        Raises:
            ProcessError: it does not start.
        """
        self.process.start()
        self.process.wait_until(self.ready, self.patience)
        return self

    def stop(self) -> None:
        """End it in order, as SIGTERM does; the data stays."""
        self.process.stop(_GRACE)

    def kill(self) -> None:
        """End it at once, as kill -9 does; the data stays."""
        self.process.kill()

    def restart(self) -> None:
        """End it in order and start it again on the same port with the same data."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()


def free_port() -> int:
    """A TCP port of the loopback address that nothing listens on.

    It is none of those that the system gives to clients: one of them would have it before a server that takes long to start.
    """
    while True:
        port = secrets.choice(_PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def environment(**values: str) -> dict[str, str]:
    """The environment for a program of the reference: PATH, HOME and the given values, no proxies, no KUBECONFIG."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/")} | values


def _die_with_parent() -> None:
    """Run in the child before exec: the kernel ends it when its parent is gone."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
