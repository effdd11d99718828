"""Counts of KMS plugins (apiserver pkg/storage/value/encrypt/envelope/metrics)."""

from __future__ import annotations

import hashlib
import time
from typing import Final

from apiext.base.scheduling.histogram import Histogram
from apiext.storage.value.transformation_stats import DURATIONS

CALL_DURATIONS: Final = tuple(0.0001 * 2**power for power in range(20))
"""Upper bounds of the durations of calls, in seconds."""
_KEPT: Final = 100
"""Keys that are counted; the oldest ones are forgotten."""


def hash_of(text: str) -> str:
    """Return a text's hash, as messages and metrics show it; empty for an empty text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if text else ""


class KMSStats:
    """Counts the calls of plugins, and the use of their keys."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str, str], Histogram] = {}
        """Durations by plugin, method and gRPC status."""
        self.keys: dict[tuple[str, str, str], tuple[int, float]] = {}
        """Number of uses and time of the last one, by transformation type, plugin and key."""
        self.reported_keys: dict[tuple[str, str], float] = {}
        """The time when a plugin last reported a key, by plugin and key."""
        self.invalid_keys: dict[tuple[str, str], int] = {}
        """Invalid key ids of plugins, by plugin and error."""
        self.data_keys = Histogram(DURATIONS[:14])
        """Durations of the generation of seeds."""
        self.cache_misses = 0
        """Number of values whose seed was not known."""
        self.cached_seeds: dict[str, int] = {}
        """Number of decrypted seeds by plugin."""

    def call(self, plugin: str, method: str, code: str, seconds: float) -> None:
        """Count a call."""
        what = plugin, method, code
        if what not in self.calls:
            self.calls[what] = Histogram(CALL_DURATIONS)
        self.calls[what].observe(seconds)

    def use(self, type_: str, plugin: str, key: str) -> None:
        """Count the use of a key."""
        what = type_, plugin, key
        number, _ = self.keys.pop(what, (0, 0.0))
        self.keys[what] = number + 1, time.time()
        if len(self.keys) > _KEPT:
            del self.keys[next(iter(self.keys))]

    def report(self, plugin: str, key: str) -> None:
        """Record a key that a plugin has reported."""
        self.reported_keys.pop((plugin, key), None)
        self.reported_keys[plugin, key] = time.time()
        if len(self.reported_keys) > _KEPT:
            del self.reported_keys[next(iter(self.reported_keys))]

    def refuse(self, plugin: str, error: str) -> None:
        """Count an invalid key id."""
        self.invalid_keys[plugin, error] = self.invalid_keys.get((plugin, error), 0) + 1
