"""/debug/api_priority_and_fairness/ (apiserver pkg/util/flowcontrol/apf_controller_debug.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.endpoints.parameters.query_parameters import parse_query, text
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.flowcontrol.dumps import dump_priority_levels, dump_queues, dump_requests
from apiext.base.scheduling.time_slice import in_slices

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.api.flowcontrol.controller import Controller


class FlowControlDebug:
    """Answers with a table of the priority levels, their queues or their requests."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the table of a path, else 404."""
        match request.path:
            case "/debug/api_priority_and_fairness/dump_priority_levels":
                found = dump_priority_levels(self._controller)
            case "/debug/api_priority_and_fairness/dump_queues":
                found = dump_queues(self._controller)
            case "/debug/api_priority_and_fairness/dump_requests":
                details = bool(text(parse_query(request), "includeRequestDetails"))
                found = dump_requests(self._controller, details=details)
            case _:
                return text_reply("404 page not found", status=404)
        # names that are not UTF-8 keep their bytes
        return Reply((await in_slices(found)).encode(errors="surrogateescape"), content_type="text/plain; charset=utf-8")
