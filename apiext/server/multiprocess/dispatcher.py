"""Passes each accepted connection to the worker with the fewest open ones.

Connections of Kubernetes clients live long, so they are balanced by number. SO_REUSEPORT would choose the worker by a hash of the
addresses: of 8 connections, one of 2 workers then gets 6 or more in 29 of 100 cases. A listening socket that all workers accept from
gives many to the worker that wakes first. Here a connection also survives in the listener's queue while no worker can take it.
"""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from apiext.server.multiprocess.worker_slot import WorkerSlot

_LOG: Final = get_logger(__name__)
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
