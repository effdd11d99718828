"""The server's end of the template of worker processes."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.base.workers.messages import message_sockets, receive_message, send_message
from apiext.base.workers.template_process import become, ignore_signals, serve_template

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMAND: Final = ("-P", "-m", "apiext.base.workers.template_process")
_STDERR: Final = 2
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class TemplateLostError(OSError):
    """The template has ended, or does not read its messages."""

    def __init__(self) -> None:
        super().__init__(errno.ESRCH, "their template has ended")


class WorkerTemplate:
    """Starts worker processes."""

    def __init__(self, channel: socket.socket, pid: int, wait: Callable[[], object]) -> None:
        """Use the template at the other end of a channel. `wait` waits for the end of its process."""
        self.pid = pid
        self.ready = False
        """Whether it starts processes without delay."""
        self.lost = False
        """Whether no more processes can be started."""
        self.on_loss: Callable[[], None] = _ignore
        """Called when the template has ended by itself."""
        self._channel = channel
        self._wait = wait
        self._number = 0
        self._starting: dict[int, asyncio.Future[int]] = {}
        self._ending: dict[int, asyncio.Future[int | None]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(channel.fileno(), self._on_message)

    async def start(self, connection: socket.socket) -> int:
        """Start a process with a copy of its end of a connection, and return its id.

        Raises:
            OSError: the system does not allow it; TemplateLostError.
        """
        self._number += 1
        number = self._number
        if self.lost or not send_message(self._channel, "start", id=number, descriptor=connection.fileno()):
            raise TemplateLostError
        started: asyncio.Future[int] = self._loop.create_future()
        self._starting[number] = started
        try:
            return await started
        finally:
            self._starting.pop(number, None)

    def end(self, pid: int) -> asyncio.Future[int | None]:
        """Kill a process. The result is its exit status once it has ended; None if nobody knows it."""
        ended: asyncio.Future[int | None] = self._loop.create_future()
        if not self.lost and send_message(self._channel, "end", pid=pid):
            self._ending[pid] = ended
            return ended
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        ended.set_result(None)
        return ended

    async def close(self) -> None:
        """End the template. Its workers end with their connections."""
        self._lose()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        await asyncio.to_thread(self._wait)

    def _on_message(self) -> None:
        try:
            message = receive_message(self._channel)
        except BlockingIOError:
            return
        if message is None:
            self._lose()
            self.on_loss()
            return
        fields = message.fields
        match message.kind:
            case "ready":
                self.ready = True
            case "started" if (started := self._starting.get(fields["id"])) is not None and not started.done():
                started.set_result(fields["pid"])
            case "started":
                # nobody waits for it any more
                send_message(self._channel, "end", pid=fields["pid"])
            case "failed" if (started := self._starting.get(fields["id"])) is not None and not started.done():
                started.set_exception(OSError(fields["errno"], os.strerror(fields["errno"])))
            case "ended" if (ended := self._ending.pop(fields["pid"], None)) is not None and not ended.done():
                ended.set_result(fields["status"])

    def _lose(self) -> None:
        if self.lost:
            return
        self.lost = True
        self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        for started in self._starting.values():
            if not started.done():
                started.set_exception(TemplateLostError())
        for pid, ended in self._ending.items():
            # a process that is stopped does not notice the end of its connection
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            if not ended.done():
                ended.set_result(None)
        self._ending.clear()


def forked_template() -> WorkerTemplate:
    """Fork a template from this process, in some milliseconds. Modules, their caches and all other objects are shared with it.

    Only the calling thread goes on in the template: no other one may hold a lock then that jobs need, as of an import.

    Raises:
        OSError: the system does not allow it.
    """
    ours, theirs = message_sockets()
    with theirs:
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            with warnings.catch_warnings():
                # Python warns of forks beside threads, see above
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if not pid:
                become(lambda: _serve_copy(theirs))
        except OSError:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return WorkerTemplate(ours, pid, lambda: os.waitpid(pid, 0))


def spawned_template(preload: str) -> WorkerTemplate:
    """Start the program of a template, which first calls `rehearse` of the module `preload`, if any. Raises as `forked_template`."""
    ours, theirs = message_sockets()
    with theirs:
        number = theirs.fileno()
        try:
            process = subprocess.Popen(  # noqa: S603 -- the command is ours
                [sys.executable, *_COMMAND, str(number), *filter(None, [preload])],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError:
            ours.close()
            raise
    return WorkerTemplate(ours, process.pid, process.wait)


def _ignore() -> None:
    pass


def _serve_copy(channel: socket.socket) -> None:
    """Serve as a template in the copy of a process, without its descriptors."""
    ignore_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    _drop_descriptors(channel.fileno())
    serve_template(channel)


def _drop_descriptors(kept: int) -> None:
    """Let all descriptors but one and the standard ones be of /dev/null.

    Their numbers are never used again: libraries, such as libuv after each fork, may close what they believe to be theirs.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for path in Path("/dev/fd").iterdir():
        if (number := int(path.name)) > _STDERR and number not in (kept, null):
            os.dup2(null, number, inheritable=False)
