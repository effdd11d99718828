"""Frames: nine bytes of header, then the payload (RFC 9113, 4 and 6)."""

from __future__ import annotations

from struct import Struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA: Final = 0
HEADERS: Final = 1
RST_STREAM: Final = 3
SETTINGS: Final = 4
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY: Final = 0x20

HEADER_TABLE_SIZE: Final = 1
ENABLE_PUSH: Final = 2
MAX_CONCURRENT_STREAMS: Final = 3
INITIAL_WINDOW_SIZE: Final = 4
MAX_FRAME_SIZE: Final = 5

NO_ERROR: Final = 0
REFUSED_STREAM: Final = 7
CANCEL: Final = 8

DEFAULT_WINDOW: Final = 65_535
DEFAULT_FRAME: Final = 16_384
LARGEST_WINDOW: Final = 2**31 - 1
LARGEST_STREAM: Final = 2**31 - 1

HEAD: Final = Struct(">BHBBI")
"""The length in two parts, type, flags, stream."""
HEAD_SIZE: Final = HEAD.size
NUMBER: Final = Struct(">I")
_SETTING: Final = Struct(">HI")
_GOAWAY: Final = Struct(">II")


class ProtocolError(Exception):
    """What came is not what HTTP/2 or gRPC allow."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame as it is sent."""
    size = len(payload)
    return HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream) + payload


def settings(values: dict[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*item) for item in values.items()))


def read_settings(payload: bytes) -> list[tuple[int, int]]:
    """The values of a SETTINGS frame, in their order. Raises ProtocolError."""
    if len(payload) % _SETTING.size:
        raise ProtocolError("settings of a wrong length")
    return list(_SETTING.iter_unpack(payload))


def window_update(stream: int, size: int) -> bytes:
    """A WINDOW_UPDATE frame, of a stream or of the connection (0)."""
    return frame(WINDOW_UPDATE, 0, stream, NUMBER.pack(size))


def reset(stream: int, code: int) -> bytes:
    """A RST_STREAM frame."""
    return frame(RST_STREAM, 0, stream, NUMBER.pack(code))


def number(payload: bytes) -> int:
    """The 31 bits that a WINDOW_UPDATE frame holds, or the 32 of RST_STREAM. Raises ProtocolError."""
    if len(payload) != NUMBER.size:
        raise ProtocolError("a frame of a wrong length")
    value: int = NUMBER.unpack(payload)[0]
    return value


def read_goaway(payload: bytes) -> tuple[int, int, str]:
    """The last stream that the other side has dealt with, the code, and what it says. Raises ProtocolError."""
    if len(payload) < _GOAWAY.size:
        raise ProtocolError("a frame of a wrong length")
    last, code = _GOAWAY.unpack_from(payload)
    return last & LARGEST_STREAM, code, payload[_GOAWAY.size :].decode(errors="replace")


def content(flags: int, payload: bytes) -> bytes:
    """What a DATA or HEADERS frame holds, without padding and priority. Raises ProtocolError."""
    start, end = 0, len(payload)
    if flags & PADDED:
        start, end = 1, end - payload[0] if payload else -1
    if flags & PRIORITY:
        start += 5
    if end < start:
        raise ProtocolError("padding longer than its frame")
    return payload[start:end]
