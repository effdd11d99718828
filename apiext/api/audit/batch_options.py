"""How events are collected and limited before they are stored or sent (apiserver plugin/pkg/audit/buffered and truncate)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How events are collected."""

    buffer_size: int = 10_000
    """Events that wait; further ones are lost."""
    max_size: int = 400
    """Events of a batch."""
    max_wait: float = 30.0
    """Seconds after which an incomplete batch is sent, if a batch may have more than one event."""
    throttled: bool = True
    qps: float = 10.0
    """Batches a second, if they are throttled."""
    burst: int = 15
    """Batches that may be sent at once after a pause, if they are throttled."""


@dataclass(frozen=True, slots=True)
class TruncateOptions:
    """Limits in bytes of JSON."""

    max_batch_size: int = 10 * 1024 * 1024
    max_event_size: int = 100 * 1024
