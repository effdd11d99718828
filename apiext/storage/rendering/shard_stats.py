"""Counts of watches with shard selectors (apiserver pkg/storage/cacher/metrics)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class ShardStats:
    """The counts of one resource."""

    watches: int = 0
    """Open watches with a shard selector."""
    is_used: bool = False
    """Whether there has been such a watch."""
    filtered: int = 0
    """States of objects, before and after changes, that a shard selector kept from a watch."""
