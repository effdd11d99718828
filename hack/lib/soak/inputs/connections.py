"""Connections that are many, slow, incomplete or never read."""

import socket
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from functools import partial
from ssl import SSLSocket
from typing import Final

from hack.lib.soak.attack import BROKEN, Attack
from hack.lib.soak.collection import ATTACKED, KEPT

_GET: Final = f"GET {KEPT} HTTP/1.1\r\nHost: localhost\r\n".encode()
_POST: Final = f"POST {ATTACKED} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
_PACE: Final = 0.2
"""Seconds between two pieces of a slow client."""


def _send(connection: SSLSocket, data: bytes) -> None:
    connection.settimeout(5)
    with suppress(OSError):
        connection.sendall(data)


def _slowly(connections: Iterable[SSLSocket], pieces: Iterable[bytes]) -> None:
    """Send piece after piece on every connection."""
    for piece in pieces:
        for connection in connections:
            _send(connection, piece)
        time.sleep(_PACE)


def one_byte_chunks(attack: Attack) -> None:
    """Send bodies in chunks of one byte, and chunks with long extensions and trailers; with and without credentials."""
    chunk = b"1\r\n[\r\n"
    for credentials in (False, True):
        for body in (
            chunk * attack.size(300_000, 30_000) + b"0\r\n\r\n",
            (b"1;" + b"x" * 2_000 + b"\r\n[\r\n") * attack.size(500, 50) + b"0\r\n\r\n",
            b"1\r\n[\r\n0\r\n" + b"a: b\r\n" * attack.size(50_000, 5_000) + b"\r\n",
            b"0" * attack.size(100_000, 10_000) + b"1\r\n[\r\n0\r\n\r\n",
            b"fffffffffffffffff\r\n",
            b"1\r\n[" * 1_000,
        ):
            attack.send(_POST + b"Transfer-Encoding: chunked\r\n\r\n" + body, credentials=credentials)


def unfinished_heads(attack: Attack) -> None:
    """Send 1 MB of a head that does not end on each of 300 connections."""
    for credentials in (False, True):
        with attack.connections(attack.size(150, 20), credentials=credentials) as connections:
            for connection in connections:
                _send(connection, _GET + b"a: " + b"b" * 1_000_000)
        with attack.connections(attack.size(150, 20), credentials=credentials) as connections:
            for connection in connections:
                _send(connection, _GET + b"a: b\r\n" * 170_000)


def slow_heads(attack: Attack) -> None:
    """Send the head of a request in pieces of a few bytes on many connections."""
    with attack.connections(attack.size(300, 20), credentials=False) as connections:
        _slowly(connections, (_GET[at : at + 4] for at in range(0, attack.size(len(_GET), 20), 4)))


def slow_bodies(attack: Attack) -> None:
    """Send a part of a large body and then a byte at a time, with and without credentials."""
    for credentials in (False, True):
        with attack.connections(attack.size(100, 10), credentials=credentials) as connections:
            head = _POST + b"Content-Length: 3000000\r\n\r\n"
            _slowly(connections, [head + b" " * attack.size(1_000_000, 200_000), *[b" "] * attack.size(20, 3)])


def idle_connections(attack: Attack) -> None:
    """Open 1,500 TLS connections and send nothing, before and after a request."""
    with attack.connections(attack.size(1_500, 100), credentials=False), attack.connections(attack.size(500, 20)) as used:
        for connection in used:
            _send(connection, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(_PACE)


def unfinished_handshakes(attack: Attack) -> None:
    """Open connections without a TLS handshake, with a part of one, and with something else."""
    hello = bytes.fromhex("16030100ff010000fb0303") + b"a" * 32
    with ExitStack() as stack:
        for data in (
            b"",
            hello,
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\xff\xff" + b"\0" * 9_000,
            b"\xff" * 9_000,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ):
            for _ in range(attack.size(150, 10)):
                with suppress(OSError):
                    connection = stack.enter_context(socket.create_connection(("127.0.0.1", attack.direct.port), timeout=5))
                    connection.sendall(data)
        time.sleep(_PACE)


def connection_churn(attack: Attack) -> None:
    """Open and close connections as fast as possible, some in the middle of a request."""

    def churn() -> None:
        for data in (b"", _GET[:20], _GET + b"\r\n", _POST + b"Content-Length: 100000\r\n\r\n" + b"x" * 50_000):
            with suppress(*BROKEN), attack.connect(credentials=False) as connection:
                _send(connection, data)

    attack.together([churn] * attack.size(300, 20))


def pipelined_requests(attack: Attack) -> None:
    """Send thousands of requests on each connection without reading an answer."""
    request = f"GET {KEPT}?limit=500 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    def pipeline(credentials: bool) -> None:  # noqa: FBT001 -- one of two kinds
        with suppress(*BROKEN), attack.connect(credentials=credentials) as connection:
            connection.settimeout(2)
            connection.sendall(request * attack.size(10_000, 500))
            time.sleep(_PACE)

    attack.together([partial(pipeline, credentials) for credentials in (True, False) for _ in range(attack.size(20, 3))])


def broken_bodies(attack: Attack) -> None:
    """Break the encoding of a body, and send another request on the same connection."""

    def send(body: bytes, credentials: bool) -> None:  # noqa: FBT001 -- one of two kinds
        with suppress(*BROKEN), attack.connect(credentials=credentials) as connection:
            _send(connection, _POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"\r\n" + _GET + b"\r\n")
            connection.settimeout(0.3)
            while connection.recv(65536):
                pass

    bodies = (b"zz\r\n", b"-1\r\n", b"1\r\nab", b"1\r\na\r\n\xff\r\n", b"0\r\n\xff", b"1\n[\n0\n\n")
    attack.together([partial(send, body, credentials) for body in bodies for credentials in (True, False)])


INPUTS: Final = (
    one_byte_chunks,
    unfinished_heads,
    slow_heads,
    slow_bodies,
    idle_connections,
    unfinished_handshakes,
    connection_churn,
    pipelined_requests,
    broken_bodies,
)
