"""Limits concurrent requests by FlowSchemas and priority levels (apiserver pkg/server/filters/priority-and-fairness.go)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.request import FLOW, HEADERS, INFO, TIMEOUT, USER, WATCH_INITIALIZED, Handler, audit_of
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.flowcontrol.phase import WAITING, Rejected
from apiext.api.flowcontrol.retry_after import RetryAfter
from apiext.api.flowcontrol.work_estimate import ONE_SEAT
from apiext.base.scheduling.small_requests import SMALL_REQUESTS

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.api.filters.metrics import RequestStats
    from apiext.api.flowcontrol.configuration.classifier import Classification
    from apiext.api.flowcontrol.flow_control import FlowControl
    from apiext.api.flowcontrol.work_estimate import WorkEstimate


class PriorityAndFairness:
    """Makes requests wait for seats of their priority level, and answers 429 to rejected ones.

    A watch has its seats until it has sent its initial events; other long-running requests need none.
    """

    def __init__(self, handler: Handler, *, flow_control: FlowControl, maximum: float, stats: RequestStats, audited: bool = False) -> None:
        """Create the filter. `maximum` is the timeout of requests in seconds. If they are `audited`, events have their waits."""
        self._audited = audited
        self._handler = handler
        self._flow_control = flow_control
        self._maximum = maximum
        self._stats = stats
        self._retry_after: dict[str, RetryAfter] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the requests. Getting the running one would be a system call each time."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer, or 429."""
        info = request[INFO]
        verb = info.verb
        if info.long_running and verb != "watch":
            return await self._handler(request)
        user, control = request[USER], self._flow_control
        controller, found = control.controller, control.classifier.classify(user, info)
        # a new dict: the answer to a timeout has only the headers of the filters before this one
        request[HEADERS] = request[HEADERS] | found.headers
        try:
            # get: most requests
            estimate = ONE_SEAT if verb == "get" else self._estimate(request, found)
            request[FLOW] = (found, estimate)
            seats = controller.start(found, user, info, estimate)
            if seats.phase is WAITING:
                begun = time.perf_counter()
                await controller.wait(found, seats, deadline=request.get(TIMEOUT, self._maximum))
                if self._audited and (audit := audit_of(request)) is not None:
                    audit.track("apf-queue-wait", time.perf_counter() - begun)
        except Rejected:
            return self._rejection(request, found)
        small = None
        if verb == "watch":
            request[WATCH_INITIALIZED] = seats.finish
            control.watches.add(info)
        elif verb == "get":
            if self._loop is None:
                self._loop = asyncio.get_running_loop()
            small = SMALL_REQUESTS.begin(self._loop)
        elif estimate is ONE_SEAT:
            SMALL_REQUESTS.note()
        try:
            return await self._handler(request)
        finally:
            seats.finish()
            if verb == "watch":
                control.watches.remove(info)
            elif verb == "get":
                SMALL_REQUESTS.end(small)

    def _estimate(self, request: web.BaseRequest, found: Classification) -> WorkEstimate:
        info, query = request[INFO], {}
        if info.verb in {"list", "watch"}:
            query = {name: values[0] for name, values in parse_query(request).items()}
        return self._flow_control.estimator.estimate(info, query, found)

    def _rejection(self, request: web.BaseRequest, found: Classification) -> web.StreamResponse:
        self._stats.record_dropped(request, 429)
        seconds = self._retry_after.setdefault(found.level.name, RetryAfter()).record()
        return text_reply("Too many requests, please try again later.", status=429, headers={"Retry-After": str(seconds)})
