"""Levels and stages of audit events (apiserver pkg/apis/audit/v1)."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum
from typing import Final


class AuditLevel(IntEnum):
    """How much an event records."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


class AuditStage(StrEnum):
    """When an event is made."""

    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"


class AuditMode(Enum):
    """Whether requests wait for a backend."""

    BATCH = "batch"
    """Events are buffered; those beyond the buffer are lost, and counted."""
    BLOCKING = "blocking"
    BLOCKING_STRICT = "blocking-strict"
    """As BLOCKING; a request whose first event cannot be stored fails."""


LEVEL_NAMES: Final = ("None", "Metadata", "Request", "RequestResponse")
"""Names by level."""
LEVELS: Final = {name: AuditLevel(level) for level, name in enumerate(LEVEL_NAMES)}
