"""Header blocks: of requests, made without a table; of answers, read for the outcome of a call."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

import hpack

from apiext.storage.etcd.http2.frames import ProtocolError
from apiext.storage.etcd.http2.grpc_status import INTERNAL, OK, UNAVAILABLE, UNKNOWN, RpcError

_MAX_KNOWN: Final = 64
_LARGEST_TIMEOUT: Final = 99_999_999
_LIMIT: Final = 1 << 16
"""Bytes of a header block."""
_PASSING: Final = frozenset({"429", "502", "503", "504"})


class Head:
    """What one header block of an answer says."""

    __slots__ = ("error", "http", "status")

    def __init__(self, http: str | None, status: int | None, error: RpcError | None) -> None:
        self.http = http
        """HTTP's status; trailers have none."""
        self.status = status
        """gRPC's status, at the end of an answer."""
        self.error = error
        """What to raise when the answer ends with this block."""


class Reader:
    """Reads header blocks. They refer to no table, so those that come again and again are read once."""

    def __init__(self) -> None:
        self._decoder = hpack.Decoder(_LIMIT)
        self._decoder.header_table_size = 0
        self._decoder.max_allowed_table_size = 0
        self._known: dict[bytes, Head] = {}

    def read(self, block: bytes) -> Head:
        """The block's meaning.

        Raises:
            ProtocolError: it cannot be understood.
        """
        head = self._known.get(block)
        if head is None:
            try:
                head = _head({str(name): str(value) for name, value in self._decoder.decode(block)})
            except (hpack.HPACKError, ValueError, UnicodeError) as error:
                raise ProtocolError(f"headers that cannot be read: {error}") from error
            if len(self._known) < _MAX_KNOWN:
                self._known[block] = head
        return head


def _head(fields: dict[str, str]) -> Head:
    http = fields.get(":status")
    if "grpc-status" not in fields:
        error = None
        if http is not None and http != "200":
            error = RpcError(UNAVAILABLE if http in _PASSING else UNKNOWN, f"answered with HTTP status {http}")
        return Head(http, None, error or RpcError(INTERNAL, "the answer ended without a status"))
    status = int(fields["grpc-status"])
    return Head(http, status, None if status == OK else RpcError(status, unquote(fields.get("grpc-message", ""))))


def request(path: str, authority: str, *, secure: bool, metadata: dict[str, str]) -> bytes:
    """The header block of a call; `timeout` may follow."""
    fields = {
        ":method": "POST",
        ":scheme": "https" if secure else "http",
        ":path": path,
        ":authority": authority,
        "content-type": "application/grpc",
        "te": "trailers",
        "user-agent": "apiext",
    }
    return b"".join(_literal(*field) for field in (fields | metadata).items())


def timeout(seconds: float) -> bytes:
    """How long the server may take; after that it need not go on."""
    return _TIMEOUT + _text(b"%dm" % min(max(int(seconds * 1000), 1), _LARGEST_TIMEOUT))


def _literal(name: str, value: str) -> bytes:
    """A field that refers to no table and enters none (RFC 7541, 6.2.2)."""
    return b"\0" + _text(name.encode()) + _text(value.encode())


def _text(text: bytes) -> bytes:
    length, sizes = len(text), bytearray()
    if length < 127:
        return bytes((length,)) + text
    length -= 127
    sizes.append(127)
    while length >= 128:
        sizes.append(length & 127 | 128)
        length >>= 7
    sizes.append(length)
    return bytes(sizes) + text


_TIMEOUT: Final = b"\0" + _text(b"grpc-timeout")
