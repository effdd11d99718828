"""Filters that act before the request only: adjacent steps run in one coroutine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from aiohttp import web

from apiext.endpoints.request import Handler

StepResult = web.StreamResponse | Awaitable[web.StreamResponse | None] | None
"""The answer of a step, None to pass the request on; a step that has to wait returns an awaitable of either."""


class FilterStep(ABC):
    """A filter that does nothing with the answer of the filters behind it.

    A coroutine for every filter costs more than the work of most filters. A step merges the steps behind it into itself, so
    that the order of the chain stays one list.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler: Handler = handler
        self._steps: tuple[Callable[[web.BaseRequest], StepResult], ...] = (self.enter,)
        if isinstance(handler, FilterStep):
            self._handler = handler._handler  # noqa: SLF001
            self._steps += handler._steps  # noqa: SLF001

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer of the first step that has one, else of the handler. Raises what they raise."""
        for enter in self._steps:
            answer = enter(request)
            if answer is not None:
                if not isinstance(answer, web.StreamResponse):
                    answer = await answer
                if answer is not None:
                    return answer
        return await self._handler(request)

    @abstractmethod
    def enter(self, request: web.BaseRequest) -> StepResult:
        """Attach data to the request, or return an answer."""
