"""Connections on their way from the supervisor to the workers."""

import errno
import os
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from apiext.server.http.server import listen
from apiext.server.multiprocess.scoreboard import Scoreboard
from apiext.server.multiprocess.supervisor import ConnectionDispatcher
from apiext.server.multiprocess.worker import PassedConnections
from apiext.server.multiprocess.worker_slot import WorkerSlot, exit_text


class _Setting:
    """A supervisor with its workers in one process."""

    def __init__(self, workers: int) -> None:
        self.stack = ExitStack()
        self.scoreboard = Scoreboard(workers)
        self.slots = [WorkerSlot(index, self.scoreboard) for index in range(workers)]
        self.selector = self.stack.enter_context(selectors.DefaultSelector())
        self.listener = self.stack.enter_context(listen("127.0.0.1", 0))
        self.dispatcher = ConnectionDispatcher(self.listener, self.slots, self.selector)
        self.received = [self.start(slot) for slot in self.slots]

    def start(self, slot: WorkerSlot) -> PassedConnections:
        """Start a worker."""
        ends = slot.open_channels()
        self.stack.enter_context(ends.control)
        self.stack.enter_context(ends.connections)
        self.stack.callback(slot.end)
        slot.become_ready()
        return PassedConnections(ends.connections, self.scoreboard, slot.index)

    def connect(self) -> socket.socket:
        """Open a connection and let the dispatcher work until it waits."""
        client = self.stack.enter_context(socket.create_connection(self.listener.getsockname(), timeout=30))
        self.turn(30)
        return client

    def turn(self, seconds: float = 0) -> None:
        """Let the dispatcher process the events that are ready."""
        self.dispatcher.update()
        for key, _events in self.selector.select(seconds):
            key.data()

    def take(self, worker: int) -> int:
        """Let a worker accept all its connections. Return their number, which it does not close."""
        count = 0
        try:
            while True:
                self.stack.enter_context(self.received[worker].accept()[0])
                count += 1
        except BlockingIOError:
            return count

    def close(self) -> None:
        """Close everything."""
        self.dispatcher.close()
        self.stack.close()


@pytest.fixture
def setting() -> Iterator[_Setting]:
    """Create a supervisor of two workers."""
    found = _Setting(2)
    yield found
    found.close()


def test_the_worker_with_the_fewest_connections_gets_the_next(setting: _Setting) -> None:
    """Count connections on their way, and those that a worker has."""
    for _ in range(4):
        setting.connect()
    assert [slot.load for slot in setting.slots] == [2, 2]
    assert [setting.take(worker) for worker in (0, 1)] == [2, 2]
    setting.scoreboard.publish(0, received=2, connections=9)
    setting.scoreboard.publish(1, received=2, connections=7)

    for _ in range(2):
        setting.connect()

    assert [setting.take(worker) for worker in (0, 1)] == [0, 2]


def test_connections_arrive_as_they_are(setting: _Setting) -> None:
    """Pass the connection itself: what the client has sent is there, and the answer reaches it."""
    client = setting.connect()
    client.sendall(b"question")
    with setting.received[0].accept()[0] as accepted:
        accepted.setblocking(True)
        assert accepted.recv(8) == b"question"
        accepted.sendall(b"answer")

    assert client.recv(6) == b"answer"


def test_a_worker_that_is_behind_gets_no_more(setting: _Setting) -> None:
    """Leave connections to the kernel while no worker takes them, and lose none."""
    clients = 60
    for _ in range(clients):
        client = socket.create_connection(setting.listener.getsockname(), timeout=30)
        setting.stack.callback(client.close)
        setting.turn()
    queued = sum(slot.load for slot in setting.slots)
    assert queued < clients
    assert setting.dispatcher.wake_at is not None

    taken = 0
    while taken < clients:
        taken += setting.take(0) + setting.take(1)
        setting.dispatcher.wake_at = 0.0
        setting.turn()

    assert taken == clients


def test_no_connection_is_accepted_without_a_worker(setting: _Setting) -> None:
    """Let clients wait in the queue of the listening socket until a worker is there again."""
    for slot in setting.slots:
        slot.end()
    client = socket.create_connection(setting.listener.getsockname(), timeout=30)
    setting.stack.callback(client.close)
    setting.turn()
    assert [slot.load for slot in setting.slots] == [0, 0]

    setting.received[1] = setting.start(setting.slots[1])
    setting.turn(30)
    setting.turn(30) if not setting.slots[1].load else None

    assert setting.take(1) == 1


def test_a_worker_that_closed_its_channel_gets_no_more(setting: _Setting) -> None:
    """Pass connections to the others when a worker stops."""
    setting.received[0].close()

    for _ in range(2):
        setting.connect()

    assert setting.take(1) == 2
    assert [slot.accepts for slot in setting.slots] == [False, True]


@pytest.mark.parametrize("code", [errno.ETOOMANYREFS, errno.ENOBUFS])
def test_a_connection_waits_while_the_system_is_full(setting: _Setting, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Keep a connection that the system does not pass on now, and the workers, which have not ended."""

    def refuse(*_arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(socket, "send_fds", refuse)
        setting.connect()
    assert [slot.accepts for slot in setting.slots] == [True, True]

    setting.dispatcher.wake_at = 0.0
    setting.turn()

    assert setting.take(0) + setting.take(1) == 1


def test_the_end_of_the_supervisor(setting: _Setting) -> None:
    """Raise an error for a worker whose supervisor has ended: it must not be asked again and again."""
    setting.slots[0].close_connections()

    with pytest.raises(OSError, match="passes no more"):
        setting.received[0].accept()


@pytest.mark.parametrize("status, text", [(0, "exit code 0"), (256, "exit code 1"), (9, "signal 9 (SIGKILL)"), (63, "signal 63")])
def test_exit_texts(status: int, text: str) -> None:
    """Name the signal that ended a process."""
    assert exit_text(status) == text


def test_restarts_become_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer before each start of a worker that ends at once."""
    slot, now = WorkerSlot(0, Scoreboard(1)), 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    assert [slot.plan_restart() for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0]
    now = 61.0
    assert slot.plan_restart() == 0.1
