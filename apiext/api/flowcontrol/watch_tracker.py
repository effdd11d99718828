"""Counts watches by their resource, namespace and name (apiserver pkg/util/flowcontrol/watch_tracker.go)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiext.base.meta.request import RequestInfo


class WatchTracker:
    """The number of watches of this server by group, resource, namespace and name, regardless of selectors."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str, str]] = Counter()

    def add(self, info: RequestInfo) -> None:
        """Count a watch."""
        self._counts[info.group, info.resource, info.namespace, info.name] += 1

    def remove(self, info: RequestInfo) -> None:
        """Remove a counted watch."""
        key = (info.group, info.resource, info.namespace, info.name)
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def interested(self, info: RequestInfo) -> int:
        """Return the number of watches that a write may reach: watches of the resource, of its namespace and of the object."""
        if not self._counts:
            return 0
        count, group, resource = self._counts, info.group, info.resource
        found = count[group, resource, "", ""]
        if info.namespace:
            found += count[group, resource, info.namespace, ""]
        if info.name:
            found += count[group, resource, info.namespace, info.name]
        return found
