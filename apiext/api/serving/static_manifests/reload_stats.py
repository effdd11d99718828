"""Counts the reloads of files (apiserver pkg/admission/plugin/manifest/metrics)."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class ReloadStats:
    """The reloads of a server by plug-in."""

    server: str
    """The server's identity."""
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    """Reloads by status and plug-in."""
    times: dict[tuple[str, str], float] = field(default_factory=dict)
    """Times of the last reloads, in seconds since the epoch."""
    digests: dict[str, str] = field(default_factory=dict)
    """Hashes of the files that apply, by plug-in."""

    @property
    def server_hash(self) -> str:
        """Return the hash of the identity, as metrics show it."""
        return f"sha256:{hashlib.sha256(self.server.encode()).hexdigest()}" if self.server else ""

    def succeed(self, plugin: str, digest: str) -> None:
        """Count a successful load."""
        self._count("success", plugin)
        self.digests[plugin] = digest

    def fail(self, plugin: str) -> None:
        """Count a failed reload."""
        self._count("failure", plugin)

    def _count(self, status: str, plugin: str) -> None:
        self.counts[status, plugin] = self.counts.get((status, plugin), 0) + 1
        self.times[status, plugin] = time.time()
