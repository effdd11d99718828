"""Filters that act before the request only: adjacent steps run in a row, without coroutines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator

from aiohttp import web

from apiext.endpoints.request import Handler

StepResult = web.StreamResponse | Awaitable[web.StreamResponse | None] | None
"""The answer of a step, None to pass the request on; a step that has to wait returns an awaitable of either."""
_Enter = Callable[[web.BaseRequest], StepResult]


class FilterStep(ABC):
    """A filter that does nothing with the answer of the filters behind it.

    A coroutine for every filter costs more than the work of most filters. A step merges the steps behind it into itself, so
    that the order of the chain stays one list.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler: Handler = handler
        self._steps: tuple[_Enter, ...] = (self.enter,)
        later = getattr(handler, "__self__", handler)
        if isinstance(later, FilterStep):
            self._handler = later._handler  # noqa: SLF001
            self._steps += later._steps  # noqa: SLF001

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the answer of the first step that has one, else of the handler. Raises what they raise."""
        return self._pass(request, iter(self._steps))

    def _pass(self, request: web.BaseRequest, steps: Iterator[_Enter]) -> Awaitable[web.StreamResponse]:
        for enter in steps:
            answer = enter(request)
            if answer is not None:
                return self._take(answer, request, steps)
        return self._handler(request)

    async def _take(
        self,
        answer: web.StreamResponse | Awaitable[web.StreamResponse | None],
        request: web.BaseRequest,
        later: Iterator[_Enter],
    ) -> web.StreamResponse:
        """Return the answer of a step that may have to wait, or pass the request to the later steps."""
        found = answer if isinstance(answer, web.StreamResponse) else await answer
        return await self._pass(request, later) if found is None else found

    @abstractmethod
    def enter(self, request: web.BaseRequest) -> StepResult:
        """Attach data to the request, or return an answer."""
