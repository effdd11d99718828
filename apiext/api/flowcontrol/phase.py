"""The phases of a request in a queue set, and the exception for a rejected one."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Phase(Enum):
    """The phase of a request."""

    WAITING = "waiting"
    EXECUTING = "executing"
    ENDED = "ended"


# Python 3.11 looks up members of an enumeration slowly
WAITING: Final = Phase.WAITING
EXECUTING: Final = Phase.EXECUTING
ENDED: Final = Phase.ENDED


QUEUE_FULL: Final = "queue-full"
CONCURRENCY_LIMIT: Final = "concurrency-limit"
TIMED_OUT: Final = "time-out"
"""The reason for a request that left its queue: it waited too long, or its client disconnected."""


class Rejected(Exception):  # noqa: N818 -- a decision, not a fault of the server
    """The request is rejected; `reason` has the cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
