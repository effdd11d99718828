"""Header blocks: encodes those of requests, assembles and decodes those of responses."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

import hpack

from apiext.base.http2 import frames
from apiext.base.http2.frames import Http2ProtocolError
from apiext.storage.etcd.http2.grpc_status import INTERNAL, OK, UNAVAILABLE, UNKNOWN, RpcError

_MAX_KNOWN_BLOCKS: Final = 64
_CACHED_TIMEOUTS: Final = 64
_MAX_TIMEOUT_MILLISECONDS: Final = 99_999_999
"""gRPC allows eight digits."""
_TIMEOUT: Final = b"\0\x0cgrpc-timeout"
"""The field up to its value's length: a literal that enters no table (RFC 7541, section 6.2.2)."""
_MAX_DECODED_BYTES: Final = 1 << 16
_MAX_BLOCK_BYTES: Final = 1 << 20
_UNAVAILABLE_HTTP: Final = frozenset({"429", "502", "503", "504"})
"""HTTP statuses that gRPC maps to UNAVAILABLE (http-grpc-status-mapping.md)."""


class HeaderBlock(NamedTuple):
    """A response's header block and its meaning for the call."""

    ends: bool
    """Whether the block ends the response."""
    is_refused: bool
    """Whether the HTTP status is missing or not 200."""
    error: RpcError | None
    """The call's error if this block ends the response."""


class HeaderReader:
    """Assembles header blocks from HEADERS and CONTINUATION frames, and decodes them."""

    __slots__ = ("_decoder", "_partial", "inside_block", "known")

    def __init__(self) -> None:
        self._decoder = hpack.Decoder(_MAX_DECODED_BYTES)
        self._decoder.header_table_size = 0
        self._decoder.max_allowed_table_size = 0
        self.known: dict[tuple[int, bytes], HeaderBlock] = {}
        """Decoded blocks by flags and payload of their only HEADERS frame. Look here before `receive`, unless `inside_block`."""
        self._partial: tuple[int, int, bytes] | None = None
        """Stream identifier, flags of HEADERS and the bytes so far of an incomplete block."""
        self.inside_block = False
        """Whether the next frame must be a CONTINUATION."""

    def receive(self, kind: int, flags: int, stream_id: int, payload: bytes) -> HeaderBlock | None:
        """Process a frame. Return the block once it is complete.

        Raises:
            Http2ProtocolError: the frame is not allowed here, or the block cannot be decoded.
        """
        if self._partial is None:
            if kind != frames.HEADERS:
                raise Http2ProtocolError("CONTINUATION frame without HEADERS")
            block, first = frames.content(flags, payload), flags
        else:
            begun, first, block = self._partial
            if kind != frames.CONTINUATION or stream_id != begun:
                raise Http2ProtocolError("frame inside of a header block")
            block += payload
            if len(block) > _MAX_BLOCK_BYTES:
                raise Http2ProtocolError("header block too large", frames.ENHANCE_YOUR_CALM)
        if not flags & frames.END_HEADERS:
            self._partial, self.inside_block = (stream_id, first, block), True
            return None
        self._partial, self.inside_block = None, False
        decoded = self._decode(block, last=bool(first & frames.END_STREAM))
        if kind == frames.HEADERS and len(self.known) < _MAX_KNOWN_BLOCKS:
            self.known[flags, payload] = decoded
        return decoded

    def _decode(self, block: bytes, *, last: bool) -> HeaderBlock:
        try:
            return _header_block({str(name): str(value) for name, value in self._decoder.decode(block)}, last=last)
        except (hpack.HPACKError, ValueError, UnicodeError) as error:
            raise Http2ProtocolError(f"header block cannot be decoded: {error}", frames.COMPRESSION_ERROR) from error


def _header_block(fields: dict[str, str], *, last: bool) -> HeaderBlock:
    http = fields.get(":status")
    if "grpc-status" not in fields:
        error = None
        if http is not None and http != "200":
            error = RpcError(UNAVAILABLE if http in _UNAVAILABLE_HTTP else UNKNOWN, f"unexpected HTTP status {http}")
        return HeaderBlock(last, http != "200", error or RpcError(INTERNAL, "response without a gRPC status"))
    status = int(fields["grpc-status"])
    error = None if status == OK else RpcError(status, unquote(fields.get("grpc-message", "")))
    return HeaderBlock(True, http != "200", error)  # noqa: FBT003 -- field order of the block


def request(path: str, authority: str, *, secure: bool, metadata: dict[str, str]) -> bytes:
    """Encode a call's header block, which refers to no earlier block. The result of `timeout` may follow it."""
    fields = {
        ":method": "POST",
        ":scheme": "https" if secure else "http",
        ":path": path,
        ":authority": authority,
        "content-type": "application/grpc",
        "te": "trailers",
        "user-agent": "apiext",
    }
    # the third member keeps the field out of the header table
    return hpack.Encoder().encode([(*field, True) for field in (fields | metadata).items()], huffman=False)


def timeout(seconds: float) -> bytes:
    """Encode the field grpc-timeout: the server may abandon the call after it."""
    return _timeout(int(seconds * 1000))


@lru_cache(_CACHED_TIMEOUTS)  # nearly all calls have the same timeout
def _timeout(milliseconds: int) -> bytes:
    value = b"%dm" % min(max(milliseconds, 1), _MAX_TIMEOUT_MILLISECONDS)
    return _TIMEOUT + bytes((len(value),)) + value
