"""/debug/api_priority_and_fairness/ of a server of several workers.

Each worker has its part of the seats, and queues of its own. A level is one row with the sums; queues and requests are the rows of all
workers by level.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.api.endpoints.parameters.query_parameters import parse_query, text
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.flowcontrol import dumps
from apiext.base.scheduling.time_slice import in_slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aiohttp import web

    from apiext.api.flowcontrol.controller import Controller
    from apiext.api.flowcontrol.dumps import Row
    from apiext.base.meta.steps import Steps
    from apiext.server.multiprocess.siblings import Siblings

ANSWER_SECONDS: Final = 4.0
"""Time for the rows of another worker."""
_QUESTION: Final = "flow-control"
_PREFIX: Final = "/debug/api_priority_and_fairness/"
_LEVELS, _QUEUES, _REQUESTS = "dump_priority_levels", "dump_queues", "dump_requests"


class WholeFlowControl:
    """Answers with a table of the priority levels, their queues or their requests in all workers."""

    def __init__(self, controller: Controller, siblings: Siblings) -> None:
        self._controller = controller
        self._siblings = siblings
        siblings.on_question(_QUESTION, self._answer)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the table of a path, else 404. Workers that do not answer are missing in it."""
        table = request.path.removeprefix(_PREFIX)
        if not request.path.startswith(_PREFIX) or table not in {_LEVELS, _QUEUES, _REQUESTS}:
            return text_reply("404 page not found", status=404)
        details = bool(text(parse_query(request), "includeRequestDetails"))
        answers = await self._siblings.ask(_QUESTION, seconds=ANSWER_SECONDS, table=table, details=details)
        found = [self._rows(table, details=details), *(_decoded(answer.data) for answer in answers if answer.data is not None)]
        lines = await in_slices(_table(table, found, details=details))
        # names that are not UTF-8 keep their bytes
        return Reply(lines.encode(errors="surrogateescape"), content_type="text/plain; charset=utf-8")

    def _rows(self, table: str, *, details: bool) -> list[Row]:
        if table == _LEVELS:
            return dumps.priority_level_rows(self._controller)
        rows = dumps.queue_rows(self._controller) if table == _QUEUES else dumps.request_rows(self._controller, details=details)
        return list(rows)

    async def _answer(self, arguments: dict[str, Any]) -> bytes:
        """Return the rows of this worker."""
        rows = self._rows(arguments["table"], details=arguments["details"])
        return orjson.dumps([[cell.encode(errors="surrogateescape").decode("latin-1") for cell in row] for row in rows])


def _decoded(data: bytes) -> list[Row]:
    return [tuple(cell.encode("latin-1").decode(errors="surrogateescape") for cell in row) for row in orjson.loads(data)]


def _table(table: str, workers: Sequence[list[Row]], *, details: bool) -> Steps[str]:
    if table == _LEVELS:
        return dumps.priority_level_table(sum_levels(workers))
    merged = heapq.merge(*workers, key=_place)
    return dumps.queue_table(merged) if table == _QUEUES else dumps.request_table(merged, details=details)


def _place(row: Row) -> str:
    """Return what the rows of a worker are sorted by: their level."""
    return row[0]


def sum_levels(workers: Iterable[Iterable[Row]]) -> list[Row]:
    """Return a row for each priority level of any worker: it is idle if it is idle in all, and quiescing if it is so in any."""
    found: dict[str, Row] = {}
    for row in (row for rows in workers for row in rows):
        name = row[0]
        known = found.get(name)
        found[name] = row if known is None else (name, *_summed(known, row))
    return [found[name] for name in sorted(found)]


def _summed(first: Row, second: Row) -> Iterable[str]:
    """Return the cells of a level but its name: all are numbers, except whether it is idle and whether it is quiescing."""
    idle, quiescing = first[2] == second[2] == "true", "true" in {first[3], second[3]}
    active, *counts = (str(int(first[at]) + int(second[at])) for at in (1, *range(4, len(first))))
    return (active, str(idle).lower(), str(quiescing).lower(), *counts)
