"""Estimates the seats of requests (apiserver pkg/util/flowcontrol/request: width.go, {list,mutating}_work_estimator.go, config.go).

Watch tracker: apiserver pkg/util/flowcontrol/watch_tracker.go.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.api.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate, duration_per_seat, seats_times_duration

if TYPE_CHECKING:
    from apiext.api.flowcontrol.configuration.classifier import Classification
    from apiext.api.flowcontrol.controller import Controller
    from apiext.base.meta.request import RequestInfo

_WRITES: Final = frozenset({"create", "update", "patch", "delete"})
_MAX_LIST_SEATS: Final = 100
_MAX_WRITE_SEATS: Final = 10
_BYTES_PER_SEAT: Final = 100_000
"""Bytes of a list for each seat."""
_MAX_CACHED_LIST_BYTES: Final = 1_000_000
"""Bytes that a list from the cache holds at once: the server sends it in pieces."""
_MAX_OBJECT_BYTES: Final = 1_500_000
"""The assumed size of objects of unknown size."""
_WATCHES_PER_SEAT: Final = 10
_EVENT_NANOSECONDS: Final = 5_000_000
"""Nanoseconds for which the event of a write occupies a seat, on a server with `_EVENT_SEATS` seats."""
_EVENT_SEATS: Final = 600
"""Seats of the server for `_EVENT_NANOSECONDS`. With fewer seats, each is a larger part of the server, and occupied for a shorter time."""
_FALSE: Final = frozenset({"0", "false"})
"""False values of a parameter, in lower case; all others are true."""


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


class ObjectStats(NamedTuple):
    """The stored objects of a resource."""

    number: int
    average_bytes: int
    """0 if it is unknown."""


class WorkEstimator:
    """Estimates the work of requests from the numbers of stored objects and of watches."""

    def __init__(self, controller: Controller, *, objects: Callable[[str, str], ObjectStats | None], watches: WatchTracker) -> None:
        """Create an estimator. `objects` returns the statistics of a group and resource, None for an unknown one."""
        self._controller = controller
        self._event_nanoseconds = _EVENT_NANOSECONDS * min(controller.seats, _EVENT_SEATS) // _EVENT_SEATS
        self._objects = objects
        self._watches = watches

    def estimate(self, info: RequestInfo, query: Mapping[str, str], classification: Classification) -> WorkEstimate:
        """Return the estimated work of a request; `query` has the parameters of its URL.

        A watch counts as a list while it sends the initial events.
        """
        if info.verb in _WRITES:
            return self._write(info, classification)
        if info.verb in {"list", "watch"} and info.is_resource:
            return self._list(info, query, classification)
        return ONE_SEAT

    def _max_seats(self, classification: Classification, limit: int) -> int:
        return min(self._controller.max_seats(classification.level.name) or limit, limit)

    def _write(self, info: RequestInfo, classification: Classification) -> WorkEstimate:
        watches = self._watches.interested(info)
        counts = self._controller.stats(classification).watch_counts
        if watches:
            counts.observe(watches)
        else:
            counts.observe_least()
        if watches < _WATCHES_PER_SEAT:
            return ONE_SEAT
        seats = math.ceil(watches / _WATCHES_PER_SEAT)
        work = seats_times_duration(seats, self._event_nanoseconds)
        # the same work on fewer seats takes longer
        final_seats = min(seats, self._max_seats(classification, _MAX_WRITE_SEATS))
        return WorkEstimate(1, final_seats, duration_per_seat(work, final_seats))

    def _list(self, info: RequestInfo, query: Mapping[str, str], classification: Classification) -> WorkEstimate:
        most = self._max_seats(classification, _MAX_LIST_SEATS)
        try:
            limit = int(query.get("limit") or 0)
        except ValueError:
            return WorkEstimate(most)
        initial = query.get("sendInitialEvents", "false").lower() not in _FALSE
        if info.verb == "watch" and not initial and query.get("resourceVersion", "") not in {"", "0"}:
            return ONE_SEAT
        stats = self._objects(info.group, info.resource)
        if stats is None:
            # an aggregated or unknown resource
            return ONE_SEAT
        cached = info.verb == "watch" or _is_cached(query, limit)
        count = stats.number if limit <= 0 else min(limit, stats.number)
        if info.name:
            count = 1
        elif not cached and (query.get("fieldSelector") or query.get("labelSelector")):
            count = max(count, stats.number // 2)
        size = count * (stats.average_bytes if stats.average_bytes > 0 or not stats.number else _MAX_OBJECT_BYTES)
        if cached:
            size = min(size, _MAX_CACHED_LIST_BYTES)
        seats = max(1, min(most, math.ceil(size / _BYTES_PER_SEAT)))
        return ONE_SEAT if seats == 1 else WorkEstimate(seats)


def _is_cached(query: Mapping[str, str], limit: int) -> bool:
    """Report whether the reference serves a list from its watch cache."""
    match query.get("resourceVersionMatch", ""):
        case "NotOlderThan":
            return True
        case "":
            return not query.get("continue") and (limit <= 0 or query.get("resourceVersion", "") in {"", "0"})
        case _:
            return False
