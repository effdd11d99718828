"""The outcome of a call: gRPC's status codes, and their exception."""

from __future__ import annotations

import os
import socket
import ssl
from typing import Final

OK: Final = 0
CANCELLED: Final = 1
UNKNOWN: Final = 2
DEADLINE_EXCEEDED: Final = 4
RESOURCE_EXHAUSTED: Final = 8
ABORTED: Final = 10
OUT_OF_RANGE: Final = 11
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14

_NAMES: Final = {
    CANCELLED: "Canceled",
    DEADLINE_EXCEEDED: "DeadlineExceeded",
    RESOURCE_EXHAUSTED: "ResourceExhausted",
    ABORTED: "Aborted",
    OUT_OF_RANGE: "OutOfRange",
    UNIMPLEMENTED: "Unimplemented",
    INTERNAL: "Internal",
    UNAVAILABLE: "Unavailable",
}


def name_of(code: int) -> str:
    """Return grpc-go's name of a status code, "Unknown" for other codes."""
    return _NAMES.get(code, "Unknown")


class RpcError(Exception):
    """A failed call. `unprocessed`: the server certainly has not processed it, so even a write may be sent again."""

    def __init__(self, code: int, details: str, *, unprocessed: bool = False) -> None:
        super().__init__(details or f"code {code}")
        self.code = code
        self.details = details
        self.unprocessed = unprocessed

    def copy(self) -> RpcError:
        """Return an equal error to raise elsewhere: a raised exception keeps its traceback's frames alive."""
        return RpcError(self.code, self.details, unprocessed=self.unprocessed)


def error_text(error: Exception) -> str:
    """Describe a failure of the connection in one line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate cannot be trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno)
    return " ".join(str(error).split()) or type(error).__name__
