"""How a call ends: gRPC's codes, and the error that carries one."""

from __future__ import annotations

from typing import Final

OK: Final = 0
CANCELLED: Final = 1
UNKNOWN: Final = 2
DEADLINE_EXCEEDED: Final = 4
RESOURCE_EXHAUSTED: Final = 8
ABORTED: Final = 10
OUT_OF_RANGE: Final = 11
INTERNAL: Final = 13
UNAVAILABLE: Final = 14


_NAMES: Final = {
    CANCELLED: "Canceled",
    DEADLINE_EXCEEDED: "DeadlineExceeded",
    RESOURCE_EXHAUSTED: "ResourceExhausted",
    ABORTED: "Aborted",
    OUT_OF_RANGE: "OutOfRange",
    INTERNAL: "Internal",
    UNAVAILABLE: "Unavailable",
}


def name_of(code: int) -> str:
    """What others call a code."""
    return _NAMES.get(code, "Unknown")


class RpcError(Exception):
    """A call that did not succeed."""

    def __init__(self, code: int, details: str) -> None:
        super().__init__(details or f"code {code}")
        self.code = code
        self.details = details

    def again(self) -> RpcError:
        """The same, to be raised by another: one that is raised keeps whoever raised it."""
        return RpcError(self.code, self.details)
