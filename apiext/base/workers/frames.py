"""Frames between the server and its worker processes: a length and a pickled value.

Both ends are processes of one server, connected by an unnamed socket pair: no other process can write to them.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import socket

_LENGTH: Final = struct.Struct("!Q")


class JobReport(IntEnum):
    """The kinds of frames that a worker sends, each with one value."""

    QUESTION = 0
    """A JobQuestion. The server answers with a JobAnswer."""
    RESULT = 1
    """The result of the job."""
    ERROR = 2
    """The exception that ended the job."""
    LEAVING = 3
    """None; precedes a RESULT or ERROR if the process ends afterwards."""
    NOTICE = 4
    """A JobQuestion without an answer; precedes a RESULT or ERROR."""
    BEGUN = 5
    """None; precedes all others of a job."""


class _Pickler(pickle.Pickler):
    """Pickles exceptions by their attributes: their constructors need not accept `args`."""

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, BaseException):
            return NotImplemented
        return copyreg.__newobj__, (type(obj), *obj.args), obj.__dict__  # type: ignore[attr-defined]


def frame(value: Any) -> bytes:
    """Return the frame of a value. Pass large data as bytes, which pickle only copies.

    Raises:
        Exception: the value cannot be pickled.
    """
    buffer = io.BytesIO()
    buffer.write(_LENGTH.pack(0))
    _Pickler(buffer, protocol=5).dump(value)
    with buffer.getbuffer() as content:
        _LENGTH.pack_into(content, 0, len(content) - _LENGTH.size)
    return buffer.getvalue()


class Frames:
    """Cuts a stream of bytes into the values of its frames."""

    def __init__(self, received: Callable[[Any], None]) -> None:
        """Call `received` with each value."""
        self._received = received
        self._buffer = bytearray()
        self._needed = _LENGTH.size

    def feed(self, data: bytes) -> None:
        """Process the next bytes of the stream."""
        self._buffer += data
        while len(self._buffer) >= self._needed:
            (length,) = _LENGTH.unpack_from(self._buffer)
            end = self._needed = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            with memoryview(self._buffer) as content:
                value = pickle.loads(content[_LENGTH.size : end])  # noqa: S301 -- see the module
            del self._buffer[:end]
            self._needed = _LENGTH.size
            self._received(value)


def receive(connection: socket.socket, *, begun: Callable[[], None] | None = None) -> Any:
    """Return the value of the next frame of a blocking socket. Call `begun` at its beginning.

    Raises:
        EOFError: the other end is closed.
    """
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if begun is not None:
        begun()
    return pickle.loads(_exactly(connection, length))  # noqa: S301 -- see the module


def _exactly(connection: socket.socket, size: int) -> bytearray:
    content = bytearray(size)
    with memoryview(content) as left:
        read = 0
        while read < size:
            got = connection.recv_into(left[read:])
            if not got:
                raise EOFError
            read += got
    return content
