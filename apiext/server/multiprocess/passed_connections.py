"""The connections that a worker gets from the supervisor."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.server.http.server import HTTPServer
    from apiext.server.multiprocess.scoreboard import Scoreboard

_MESSAGE_BYTES: Final = 16


class PassedConnections:
    """Implements ConnectionSource over a channel from the supervisor, and publishes how many connections the worker has."""

    def __init__(self, channel: socket.socket, scoreboard: Scoreboard, worker: int) -> None:
        self._channel = channel
        self._scoreboard = scoreboard
        self._worker = worker
        self._received = 0
        self._http: HTTPServer | None = None

    def serve(self, http: HTTPServer, *, workers: int) -> None:
        """Publish the connections of an HTTP server from now on. All workers share the limit of unauthenticated ones."""
        self._http = http
        http.unauthenticated.processes = workers
        http.on_change = http.unauthenticated.on_leave = self._publish

    def fileno(self) -> int:
        """See `ConnectionSource.fileno`."""
        return self._channel.fileno()

    def accept(self) -> tuple[socket.socket, None]:
        """Implement ConnectionSource.accept.

        Raises:
            OSError: the supervisor has ended.
        """
        data, descriptors, _flags, _address = socket.recv_fds(self._channel, _MESSAGE_BYTES, 1)
        if not data:
            raise OSError("the supervisor passes no more connections")
        self._received += 1
        if not descriptors:
            # the process has no room for another descriptor
            self._publish()
            raise OSError("too many open files")
        try:
            return socket.socket(fileno=descriptors[0]), None
        except OSError:
            os.close(descriptors[0])
            raise
        finally:
            # the HTTP server does not count it yet
            self._publish(arriving=1)

    def close(self) -> None:
        """See `ConnectionSource.close`."""
        self._channel.close()

    def _publish(self, *, arriving: int = 0) -> None:
        there = 0 if self._http is None else self._http.open_connections
        self._scoreboard.publish(self._worker, received=self._received, connections=there + arriving)
