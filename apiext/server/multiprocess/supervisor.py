"""The supervisor of workers: starts them, passes connections and signals on, and replaces a worker that ends.

It runs no event loop and has no threads, so that a replacement can be forked from it at any time. Workers share its memory: all modules
are imported before the first fork.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from apiext.base.meta.log import get_logger
from apiext.base.workers.messages import receive_message
from apiext.server.multiprocess.hung_workers import HungWorkers
from apiext.server.multiprocess.worker_slot import WorkerSlot, exit_text
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.base.workers.messages import ProcessMessage
    from apiext.server.multiprocess.scoreboard import MetricsLedger, Scoreboard
    from apiext.server.multiprocess.worker_slot import WorkerEnds
    from apiext.server.routes.process_role import SharedLog


_ACCEPTED_AT_ONCE: Final = 64
_FULL_INTERVAL: Final = 0.01
"""Seconds between attempts to pass a connection on while all workers are behind."""
_FAILURE_INTERVAL: Final = 1.0
"""Seconds until the next attempt after the system refused a connection, for example for lack of file descriptors."""


class ConnectionDispatcher:
    """Accepts connections while a worker takes them."""

    def __init__(self, listener: socket.socket, slots: Sequence[WorkerSlot], selector: selectors.BaseSelector) -> None:
        self._listener = listener
        self._slots = slots
        self._selector = selector
        self._held: socket.socket | None = None
        """An accepted connection for which no worker had room."""
        self._accepts = False
        self._is_closed = False
        self.wake_at: float | None = None
        """When `update` is to be called again (time.monotonic); None if only after a change of the workers."""

    def update(self) -> None:
        """Accept connections, or leave them to the kernel, as the state of the workers needs."""
        if self.wake_at is not None and time.monotonic() < self.wake_at:
            return
        self.wake_at = None
        if self._held is not None and self._takers():
            self._pass_on(self._held)
        self._set_accepting(bool(self._held is None and self._takers()))

    def close(self) -> None:
        """Take no more connections."""
        self._set_accepting(False)  # noqa: FBT003 -- one parameter
        self._is_closed = True
        self._listener.close()
        if self._held is not None:
            self._held.close()

    def forget(self) -> None:
        """Close the listening socket in a process that was forked."""
        self._listener.close()
        if self._held is not None:
            self._held.close()

    def _takers(self) -> list[WorkerSlot]:
        return [slot for slot in self._slots if slot.accepts]

    def _set_accepting(self, accepts: bool) -> None:  # noqa: FBT001 -- one parameter
        if self._is_closed or accepts == self._accepts:
            return
        self._accepts = accepts
        if accepts:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        else:
            self._selector.unregister(self._listener)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE if self._accepts else 0):
            try:
                connection, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _LOG.error("connection not accepted, retrying", error=str(error))
                self._pause(_FAILURE_INTERVAL)
                return
            self._pass_on(connection)
            if self._held is not None:
                return

    def _pass_on(self, connection: socket.socket) -> None:
        """Give a connection to the worker with the fewest; hold it while none has room."""
        for slot in sorted(self._takers(), key=lambda slot: slot.load):
            if slot.give(connection):
                connection.close()
                self._held = None
                return
        self._held = connection
        self._pause(_FULL_INTERVAL)

    def _pause(self, seconds: float) -> None:
        self._set_accepting(False)  # noqa: FBT003 -- one parameter
        self.wake_at = time.monotonic() + seconds


_LOG: Final = get_logger(__name__)
_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)
_SIGNALS: Final = (*_STOPPING, signal.SIGCHLD)


class SharedState(NamedTuple):
    """What the supervisor and the workers share."""

    scoreboard: Scoreboard
    ledger: MetricsLedger
    log: SharedLog


class Supervisor:
    """Runs a number of workers until SIGTERM, SIGINT or the end of the parent process."""

    def __init__(
        self,
        listener: socket.socket,
        workers: int,
        shared: SharedState,
        work: Callable[[int, WorkerEnds], int],
        *,
        started: Callable[[dict[str, str]], None],
    ) -> None:
        """Create the supervisor. `work` is the program of the worker of a number from 0 and returns its exit code.

        `started` is called with the facts of the first worker once all are ready.
        """
        self._shared = shared
        self._work = work
        self._started = started
        self._slots = [WorkerSlot(index, shared.scoreboard) for index in range(workers)]
        self._selector = selectors.DefaultSelector()
        self._dispatcher = ConnectionDispatcher(listener, self._slots, self._selector)
        self._hung = HungWorkers(self._slots, shared.scoreboard)
        self._wakeup, self._woken = socket.socketpair()
        self._facts: dict[str, str] = {}
        self._all_started = False
        self._stopping = False
        self._failure = ""

    def run(self, *, parent: int | None = None) -> None:
        """Start the workers, and return when all have ended. `parent` is a descriptor of the process whose end stops the server.

        Raises:
            StartError: a worker could not start.
        """
        self._catch_signals()
        self._selector.register(self._woken, selectors.EVENT_READ, self._on_signals)
        if parent is not None:
            self._selector.register(parent, selectors.EVENT_READ, lambda: self._on_parent_end(parent))
        for slot in self._slots:
            if not self._stopping:
                self._start(slot)
        while any(slot.pid is not None for slot in self._slots) or not self._stopping:
            self._dispatcher.update()
            for key, _events in self._selector.select(self._patience()):
                key.data()
            self._start_due()
            self._end_hung()
        self._dispatcher.close()
        if self._failure:
            raise StartError(self._failure)

    # --- signals --------------------------------------------------------------------------------------------------------

    def _catch_signals(self) -> None:
        for end in (self._wakeup, self._woken):
            end.setblocking(False)  # noqa: FBT003 -- the standard library's signature
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, _do_nothing)

    def _on_signals(self) -> None:
        with suppress(BlockingIOError):
            for number in self._woken.recv(64):
                if number == signal.SIGCHLD:
                    self._reap()
                elif number in _STOPPING:
                    self._stop()

    def _on_parent_end(self, parent: int) -> None:
        self._selector.unregister(parent)
        self._stop()

    def _stop(self) -> None:
        """Let the workers end: gracefully, or at once if they shall end already."""
        if not self._stopping:
            _LOG.info("server shutting down", workers=len(self._slots))
        self._stopping = True
        for slot in self._slots:
            slot.start_at = None
            slot.tell("stop")

    # --- workers --------------------------------------------------------------------------------------------------------

    def _start(self, slot: WorkerSlot) -> None:
        """Start a worker, or plan the next attempt: the machine may lack processes, memory or descriptors for a while."""
        try:
            self._fork(slot)
        except OSError as error:
            self._release(slot)
            if not self._all_started:
                self._fail(f"cannot start worker {slot.number}: {error.strerror}")
                return
            pause = slot.plan_restart()
            _LOG.error("worker not started, retrying", worker=slot.number, error=str(error), retry_after=pause)

    def _fork(self, slot: WorkerSlot) -> None:
        ends = slot.open_channels()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            slot.pid = os.fork()
            if not slot.pid:
                self._become_worker(slot, ends)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            for end in ends.control, ends.connections:
                end.close()
        for channel, receive in zip(slot.channels, (self._on_message, self._on_end_of_connections), strict=True):
            self._selector.register(channel, selectors.EVENT_READ, _bound(receive, slot))

    def _become_worker(self, slot: WorkerSlot, ends: WorkerEnds) -> NoReturn:
        """Run the program of a worker in a new process."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            # the supervisor passes them on: a terminal or a service manager sends signals to all processes
            for number in _STOPPING:
                signal.signal(number, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._selector.close()
            self._dispatcher.forget()
            for end in (self._wakeup, self._woken, *(channel for one in self._slots for channel in one.channels)):
                end.close()
            code = self._work(slot.index, ends)
        except BaseException:  # noqa: BLE001 -- the process ends here
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(code)

    def _on_message(self, slot: WorkerSlot) -> None:
        control = slot.control
        if control is None:
            return
        try:
            message = receive_message(control)
        except BlockingIOError:
            return
        if message is None:
            # the end of the process follows
            self._selector.unregister(control)
        else:
            self._handle(slot, message)

    def _handle(self, slot: WorkerSlot, message: ProcessMessage) -> None:
        match message.kind:
            case "ready":
                slot.become_ready()
                self._on_ready(slot, message.fields["facts"])
            case "failed":
                slot.error = message.fields["error"]
            case "ask":
                self._connect(slot, message.fields["id"])
            case "reset":
                self._shared.ledger.reset()

    def _connect(self, asker: WorkerSlot, number: int) -> None:
        """Connect a worker with each of the others; without a descriptor for those that cannot answer."""
        for slot in self._slots:
            if slot is asker:
                continue
            try:
                ours, theirs = socket.socketpair()
            except OSError:
                # the supervisor has no more descriptors
                asker.tell("connected", id=number, worker=slot.index)
                continue
            with ours, theirs:
                there = slot.is_ready and slot.tell("question", descriptor=theirs.fileno())
                asker.tell("connected", descriptor=ours.fileno() if there else None, id=number, worker=slot.index)

    def _on_ready(self, slot: WorkerSlot, facts: dict[str, str]) -> None:
        if slot.index == 0:
            self._facts = facts
        if self._all_started:
            _LOG.warning("worker replaced", worker=slot.number, pid=slot.pid)
        elif all(one.is_ready for one in self._slots) and not self._stopping:
            self._all_started = True
            self._started(self._facts | {"workers": f"{len(self._slots)} (processes {', '.join(str(one.pid) for one in self._slots)})"})

    def _on_end_of_connections(self, slot: WorkerSlot) -> None:
        """Handle that a worker takes no more connections. When all stop, nobody listens."""
        if slot.connections is not None:
            self._selector.unregister(slot.connections)
        slot.close_connections()
        if self._stopping and not any(one.accepts for one in self._slots):
            self._dispatcher.close()

    def _reap(self) -> None:
        """Handle the ended processes. As the first process of a container, the supervisor gets those of others, too."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                for slot in self._slots:
                    if slot.pid == pid:
                        self._on_worker_end(slot, status)

    def _on_worker_end(self, slot: WorkerSlot, status: int) -> None:
        self._read_last_messages(slot)
        pid = slot.pid
        self._release(slot)
        if self._stopping:
            return
        self._shared.ledger.retire(slot.index)
        if not self._all_started:
            self._fail(slot.error or f"worker {slot.number} ended before it was ready: {exit_text(status)}")
            return
        self._shared.scoreboard.replaced += 1
        fields = {"error": slot.error} if slot.error else {}
        pause = slot.plan_restart()
        _LOG.error("worker ended, starting it again", worker=slot.number, pid=pid, status=exit_text(status), retry_after=pause, **fields)

    def _release(self, slot: WorkerSlot) -> None:
        for channel in slot.channels:
            with suppress(KeyError):
                self._selector.unregister(channel)
        slot.end()

    def _fail(self, reason: str) -> None:
        """End a server that does not start."""
        self._failure = reason
        self._stop()
        # and at once: the workers have no clients yet
        self._stop()

    def _read_last_messages(self, slot: WorkerSlot) -> None:
        """Handle what a worker said before its end."""
        while slot.control is not None:
            try:
                message = receive_message(slot.control)
            except BlockingIOError:
                return
            if message is None:
                return
            if message.kind == "failed":
                self._handle(slot, message)
            elif message.descriptor is not None:
                os.close(message.descriptor)

    def _start_due(self) -> None:
        now = time.monotonic()
        for slot in self._slots:
            if slot.start_at is not None and slot.start_at <= now:
                self._start(slot)

    def _end_hung(self) -> None:
        """Kill the workers that hang. Their ends are handled as others are."""
        for slot in self._hung.find():
            if slot.pid is not None:
                _LOG.error("worker hangs, killing it", worker=slot.number, pid=slot.pid)
                os.kill(slot.pid, signal.SIGKILL)

    def _patience(self) -> float:
        """Return the seconds until something is due."""
        due = [self._hung.wake_at, *(slot.start_at for slot in self._slots if slot.start_at is not None)]
        if self._dispatcher.wake_at is not None:
            due.append(self._dispatcher.wake_at)
        return max(0.0, min(due) - time.monotonic())


def _bound(receive: Callable[[WorkerSlot], None], slot: WorkerSlot) -> Callable[[], None]:
    return lambda: receive(slot)


def _do_nothing(_number: int, _frame: object) -> None:
    """Handle a signal: its number arrives at the wakeup descriptor."""
