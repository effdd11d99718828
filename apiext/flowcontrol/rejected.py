"""Why a request is not executed."""

from __future__ import annotations

from typing import Final

QUEUE_FULL: Final = "queue-full"
CONCURRENCY_LIMIT: Final = "concurrency-limit"
TIMED_OUT: Final = "time-out"
"""The reason for a request that left its queue, because of its wait limit or because the client has gone."""


class Rejected(Exception):  # noqa: N818 -- a decision, not a fault of the server
    """A request is not executed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
