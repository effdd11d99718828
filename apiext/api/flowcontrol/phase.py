"""The phases of a request in a queue set."""

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
