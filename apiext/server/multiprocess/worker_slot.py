"""A worker process as the supervisor sees it: its channels, its connections, and when it is started again."""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.backoff import Backoff
from apiext.base.workers.messages import message_sockets, send_message

if TYPE_CHECKING:
    from apiext.server.multiprocess.scoreboard import Scoreboard

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
"""Seconds between the end of a worker and its next start: this long if it ends again and again."""
_STABLE: Final = 60.0
"""Seconds of life after which the end of a worker is no sequel of its start."""
_QUEUED_BYTES: Final = 1
"""Size of the queue of connections on their way to a worker; the kernel makes it a handful. The others wait in the listener's queue, from
which any worker gets them."""
_CONNECTION: Final = b"c"
_BUSY: Final = frozenset({errno.EAGAIN, errno.EINTR, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS})
"""Errors after which a later attempt may succeed. The last one is the limit of descriptors that the user's processes have on their way."""


@dataclass(frozen=True, slots=True)
class WorkerEnds:
    """The ends of a worker's channels that the worker has."""

    control: socket.socket
    connections: socket.socket


@dataclass(slots=True, eq=False)
class WorkerSlot:
    """A place for a worker, which a replacement takes over."""

    index: int
    scoreboard: Scoreboard
    pid: int | None = None
    """None while no process is in the place."""
    is_ready: bool = False
    accepts: bool = False
    """Whether the worker takes connections."""
    error: str = ""
    """Why the process could not start, as it said."""
    start_at: float | None = None
    """When the next process is started (time.monotonic)."""
    _control: socket.socket | None = None
    _connections: socket.socket | None = None
    _sent: int = 0
    _started: float = 0.0
    _backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_PAUSE, _LONGEST_PAUSE))

    @property
    def number(self) -> int:
        """Return the number of the worker for people, from 1."""
        return self.index + 1

    @property
    def channels(self) -> list[socket.socket]:
        """Return the supervisor's ends of the open channels."""
        return [channel for channel in (self._control, self._connections) if channel is not None]

    @property
    def control(self) -> socket.socket | None:
        """Return the channel of messages, None without a process."""
        return self._control

    @property
    def connections(self) -> socket.socket | None:
        """Return the channel of connections, None without a process or when the worker takes no more."""
        return self._connections

    @property
    def load(self) -> int:
        """Return the number of connections that the worker has or will have."""
        received = self.scoreboard.received(self.index)
        return self.scoreboard.connections(self.index) + max(0, self._sent - received)

    def open_channels(self) -> WorkerEnds:
        """Open the channels of a new process. Return its ends."""
        self._sent, self._started = 0, time.monotonic()
        self.error, self.start_at, self.is_ready, self.accepts = "", None, False, False
        self._control, control = message_sockets()
        self._connections, connections = message_sockets()
        self._connections.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _QUEUED_BYTES)
        self.scoreboard.clear(self.index)
        return WorkerEnds(control, connections)

    def become_ready(self) -> None:
        """Begin to pass connections to the worker."""
        self.is_ready = self.accepts = True

    def tell(self, kind: str, *, descriptor: int | None = None, **fields: object) -> bool:
        """Send a message to the worker. Return whether it takes it."""
        return self._control is not None and send_message(self._control, kind, descriptor=descriptor, **fields)

    def give(self, connection: socket.socket) -> bool:
        """Pass a connection to the worker. Return whether it has room for it."""
        if self._connections is None:
            return False
        try:
            socket.send_fds(self._connections, [_CONNECTION], [connection.fileno()])
        except OSError as error:
            # any other error shows that the worker has closed its end
            self.accepts = error.errno in _BUSY
            return False
        self._sent += 1
        return True

    def close_connections(self) -> None:
        """Pass no more connections."""
        self.accepts = False
        if self._connections is not None:
            self._connections.close()
            self._connections = None

    def end(self) -> None:
        """Release what belonged to an ended process."""
        self.pid, self.is_ready = None, False
        self.close_connections()
        if self._control is not None:
            self._control.close()
            self._control = None
        self.scoreboard.clear(self.index)

    def plan_restart(self) -> float:
        """Set the time of the next start. Return the seconds until then."""
        now = time.monotonic()
        if now - self._started > _STABLE:
            self._backoff.reset()
        pause = self._backoff.take()
        self.start_at = now + pause
        return pause


def exit_text(status: int) -> str:
    """Return the status of an ended process for people."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
