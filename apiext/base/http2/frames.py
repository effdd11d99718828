"""HTTP/2 frames: a header of nine bytes, then the payload (RFC 9113, sections 4 and 6)."""

from __future__ import annotations

from struct import Struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# Frame types.
DATA: Final = 0
HEADERS: Final = 1
PRIORITY_FRAME: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

# Flags.
END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY: Final = 0x20

# Settings.
HEADER_TABLE_SIZE: Final = 1
ENABLE_PUSH: Final = 2
MAX_CONCURRENT_STREAMS: Final = 3
INITIAL_WINDOW_SIZE: Final = 4
MAX_FRAME_SIZE: Final = 5
MAX_HEADER_LIST_SIZE: Final = 6

# Error codes.
NO_ERROR: Final = 0
PROTOCOL_ERROR: Final = 1
INTERNAL_ERROR: Final = 2
FLOW_CONTROL_ERROR: Final = 3
STREAM_CLOSED: Final = 5
FRAME_SIZE_ERROR: Final = 6
REFUSED_STREAM: Final = 7
CANCEL: Final = 8
COMPRESSION_ERROR: Final = 9
ENHANCE_YOUR_CALM: Final = 11

DEFAULT_WINDOW_BYTES: Final = 65_535
MAX_WINDOW_BYTES: Final = 2**31 - 1
DEFAULT_FRAME_BYTES: Final = 16_384
"""The largest payload before SETTINGS, and the least value in SETTINGS."""
MAX_FRAME_BYTES: Final = 2**24 - 1
MAX_STREAM_ID: Final = 2**31 - 1
UINT31_MASK: Final = 2**31 - 1
"""Clears the reserved bit of a stream identifier or a window increment."""

HEADER: Final = Struct(">IBI")
"""The length (24 bits) and the type (8 bits) in one number, flags, stream identifier."""
HEADER_BYTES: Final = HEADER.size
pack_header: Final = HEADER.pack
unpack_header: Final = HEADER.unpack_from
UINT32: Final = Struct(">I")
_SETTING: Final = Struct(">HI")
_GOAWAY: Final = Struct(">II")
PING_BYTES: Final = 8
PRIORITY_BYTES: Final = 5


class Http2ProtocolError(Exception):
    """The peer violates HTTP/2 or gRPC. The connection ends; `code` is the error code for GOAWAY."""

    def __init__(self, message: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(message)
        self.code = code


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    """Encode a frame."""
    return pack_header(len(payload) << 8 | kind, flags, stream_id) + payload


def settings(values: dict[int, int]) -> bytes:
    """Encode a SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*item) for item in values.items()))


def window_update(stream_id: int, increment: int) -> bytes:
    """Encode a WINDOW_UPDATE frame for a stream, or for the connection (stream 0). The increment is in bytes."""
    return frame(WINDOW_UPDATE, 0, stream_id, UINT32.pack(increment))


def reset(stream_id: int, code: int) -> bytes:
    """Encode a RST_STREAM frame."""
    return frame(RST_STREAM, 0, stream_id, UINT32.pack(code))


def goaway(code: int, last: int = 0, text: str = "") -> bytes:
    """Encode a GOAWAY frame. `last` is the last stream of the peer that is or will be processed, none by default."""
    return frame(GOAWAY, 0, 0, _GOAWAY.pack(last, code) + text.encode())


def read_settings(payload: bytes, *, of_server: bool = True) -> list[tuple[int, int]]:
    """Decode a SETTINGS frame, of a server or of a client, into identifiers and values, in order.

    Raises:
        Http2ProtocolError: the length is wrong, or a value is outside the range that RFC 9113, section 6.5.2 allows.
    """
    if len(payload) % _SETTING.size:
        raise Http2ProtocolError("SETTINGS frame of a wrong length", FRAME_SIZE_ERROR)
    values = list(_SETTING.iter_unpack(payload))
    for name, value in values:
        if name == MAX_FRAME_SIZE and not DEFAULT_FRAME_BYTES <= value <= MAX_FRAME_BYTES:
            raise Http2ProtocolError(f"MAX_FRAME_SIZE {value} is out of range")
        if name == INITIAL_WINDOW_SIZE and value > MAX_WINDOW_BYTES:
            raise Http2ProtocolError(f"INITIAL_WINDOW_SIZE {value} is out of range", FLOW_CONTROL_ERROR)
        if name == ENABLE_PUSH and value > (not of_server):
            raise Http2ProtocolError("a server must not enable push" if of_server else f"ENABLE_PUSH {value} is out of range")
    return values


def read_uint32(payload: bytes) -> int:
    """Decode the increment of a WINDOW_UPDATE frame (0 too, though invalid), or the error code of a RST_STREAM frame.

    Raises:
        Http2ProtocolError: the length is wrong.
    """
    if len(payload) != UINT32.size:
        raise Http2ProtocolError("frame of a wrong length", FRAME_SIZE_ERROR)
    return int(UINT32.unpack(payload)[0])


def read_goaway(payload: bytes) -> tuple[int, int, str]:
    """Decode a GOAWAY frame: the last stream that the peer may have processed, the error code, the debug text.

    Raises:
        Http2ProtocolError: the payload is too short.
    """
    if len(payload) < _GOAWAY.size:
        raise Http2ProtocolError("GOAWAY frame of a wrong length", FRAME_SIZE_ERROR)
    last, code = _GOAWAY.unpack_from(payload)
    return last & UINT31_MASK, code, payload[_GOAWAY.size :].decode(errors="replace")


def content(flags: int, payload: bytes) -> bytes:
    """Return the content of a DATA or HEADERS frame, without padding and priority. DATA frames must not have the flag PRIORITY.

    Raises:
        Http2ProtocolError: the padding is longer than the frame.
    """
    start, end = 0, len(payload)
    if flags & PADDED:
        start, end = 1, end - payload[0] if payload else -1
    if flags & PRIORITY:
        start += PRIORITY_BYTES
    if end < start:
        raise Http2ProtocolError("padding longer than its frame")
    return payload[start:end]
