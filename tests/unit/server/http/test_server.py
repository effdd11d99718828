"""The listening socket."""

import socket

from apiext.base.meta.limits import MAX_RECEIVED_AHEAD_BYTES
from apiext.server.http.server import listen


def test_bounds_what_is_received_ahead() -> None:
    """Give each connection a receive buffer that does not grow. Linux reports twice the size, for its own needs."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * MAX_RECEIVED_AHEAD_BYTES
