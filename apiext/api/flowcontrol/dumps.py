"""The text of /debug/api_priority_and_fairness/ (apiserver pkg/util/flowcontrol/apf_controller_debug.go).

A level may have thousands of queues and requests, so a dump makes the rows in steps, from the requests at its first step.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol import work_estimate as seat_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from apiext.api.flowcontrol.controller import Controller
    from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowQueue, FlowRequest
    from apiext.api.flowcontrol.fairqueuing.queue_set import QueueSet
    from apiext.base.meta.steps import Steps

_MIN_COLUMN: Final = 8
_LEVEL_COLUMNS: Final = (
    *("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests", "DispatchedRequests"),
    *("RejectedRequests", "TimedoutRequests", "CancelledRequests"),
)
_QUEUE_COLUMNS: Final = (
    *("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum"),
    *("MaxSeatsSum", "TotalWorkSum"),
)
_REQUEST_COLUMNS: Final = (
    *("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime", "InitialSeats"),
    *("FinalSeats", "AdditionalLatency", "StartTime"),
)
_DETAIL_COLUMNS: Final = ("UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
_NEVER: Final = "0001-01-01T00:00:00Z"

Row = tuple[str, ...]
"""The cells of a line of a table."""


def dump_priority_levels(controller: Controller) -> Steps[str]:
    """Return a table with a row for each priority level."""
    return priority_level_table(priority_level_rows(controller))


def priority_level_table(rows: Iterable[Row]) -> Steps[str]:
    """Return the table of rows of priority levels."""
    return _table(_LEVEL_COLUMNS, rows)


def priority_level_rows(controller: Controller) -> list[Row]:
    """Return a row for each priority level."""
    rows: list[Row] = []
    for name, state in sorted(controller.levels.items()):
        queues = state.queues
        active = sum(bool(queue.waiting) for queue in queues.queues)
        flags = (str(flag).lower() for flag in (queues.is_idle(), state.quiescing))
        # the reference counts no request as timed out
        counts = (queues.waiting, queues.executing, queues.dispatched, queues.rejected, 0, queues.cancelled)
        rows.append((name, str(active), *flags, *map(str, counts)))
    return rows


def dump_queues(controller: Controller) -> Steps[str]:
    """Return a table with a row for each queue."""
    return queue_table(queue_rows(controller))


def queue_table(rows: Iterable[Row]) -> Steps[str]:
    """Return the table of rows of queues."""
    return _table(_QUEUE_COLUMNS, rows)


def queue_rows(controller: Controller) -> Iterator[Row]:
    """Return a row for each present queue."""
    queues = [(name, queue) for name, state in sorted(controller.levels.items()) for queue in state.queues.queues]
    return (_queue_row(name, queue) for name, queue in queues)


def _queue_row(name: str, queue: FlowQueue) -> Row:
    counts = (queue.index, len(queue.waiting), len(queue.executing), queue.seats_in_use)
    start, work = seat_seconds.text(queue.next_dispatch), seat_seconds.text(queue.work)
    return (name, *map(str, counts), start, str(queue.initial_seats), str(queue.seats), work)


def dump_requests(controller: Controller, *, details: bool = False, wall_clock: Callable[[], int] = time.time_ns) -> Steps[str]:
    """Return a table with a row for each waiting or running request; with `details` it includes the user and the path."""
    return request_table(request_rows(controller, details=details, wall_clock=wall_clock), details=details)


def request_table(rows: Iterable[Row], *, details: bool) -> Steps[str]:
    """Return the table of rows of requests."""
    return _table(_REQUEST_COLUMNS + (_DETAIL_COLUMNS if details else ()), rows)


def request_rows(controller: Controller, *, details: bool, wall_clock: Callable[[], int] = time.time_ns) -> Iterator[Row]:
    """Return a row for each present request."""
    offset = wall_clock() - controller.clock.now()
    found = [(name, *placed) for name, state in sorted(controller.levels.items()) for placed in _requests(state.queues)]
    return (_request_row(*each, offset) + (_details(each[-1]) if details else ()) for each in found)


def _requests(queues: QueueSet) -> Iterator[tuple[int, int, FlowRequest]]:
    """Yield the index of the queue, the position in it and the request; -1 for a missing queue or position."""
    for queue in queues.queues:
        for position, request in enumerate(queue.waiting):
            yield queue.index, position, request
        for request in sorted(queue.executing, key=lambda item: item.started):
            yield queue.index, -1, request
    for request in sorted(queues.unqueued, key=lambda item: item.started):
        yield -1, -1, request


def _request_row(name: str, queue: int, position: int, request: FlowRequest, offset: int) -> Row:
    estimate = request.estimate
    return (
        *(name, request.flow_schema, str(queue), str(position), request.distinguisher, _timestamp(request.arrival + offset)),
        *(str(estimate.initial_seats), str(estimate.final_seats), _duration(estimate.additional_latency)),
        _NEVER if position >= 0 else _timestamp(request.started + offset),
    )


def _details(request: FlowRequest) -> Row:
    user, info = request.digest
    version = f"{info.group}/{info.version}" if info.group else info.version
    return (user.name, info.verb, info.path, info.namespace, info.name, version, info.resource, info.subresource)


def _table(header: Row, rows: Iterable[Row]) -> Steps[str]:
    """Return rows aligned as by Go's text/tabwriter: each cell but the last ends with a comma and a space."""
    known, widths = [header], [max(_MIN_COLUMN, 2 + len(cell)) for cell in header[:-1]]
    for row in rows:
        known.append(row)
        widths = [max(width, 2 + len(cell)) for width, cell in zip(widths, row[:-1], strict=True)]
        yield
    lines = []
    for row in known:
        cells = [f"{cell},".ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        lines.append("".join(cells) + row[-1] + "\n")
        yield
    return "".join(lines)


def _timestamp(nanoseconds: int) -> str:
    """Return a time in UTC, with microseconds."""
    return f"{datetime.fromtimestamp(nanoseconds / 1e9, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _duration(nanoseconds: int) -> str:
    """Return a duration in seconds."""
    return f"{nanoseconds / 1e9:g}s"
