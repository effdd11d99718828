"""Tests of the clients' TLS connections."""

import gc
import socket
import struct
from pathlib import Path

import pytest

from hack.lib.servers.certificates import Authority
from hack.lib.servers.tls_connection import client_context

_RESET = struct.pack("ii", 1, 0)


def test_a_connection_that_is_reset_early_is_closed(tmp_path: Path) -> None:
    """Leave no socket open whose server resets the connection before the handshake."""
    context = client_context(Authority(tmp_path).cert)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as plain:
        accepted, _ = listener.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        accepted.close()
        with pytest.raises(ConnectionResetError):
            context.wrap_socket(plain, server_hostname="127.0.0.1")

    gc.collect()  # a socket that is open would be reported here
