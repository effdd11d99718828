"""The exception for a rejected request."""

from __future__ import annotations

from typing import Final

QUEUE_FULL: Final = "queue-full"
CONCURRENCY_LIMIT: Final = "concurrency-limit"
TIMED_OUT: Final = "time-out"
"""The reason for a request that left its queue: it waited too long, or its client disconnected."""


class Rejected(Exception):  # noqa: N818 -- a decision, not a fault of the server
    """The request is rejected; `reason` has the cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
