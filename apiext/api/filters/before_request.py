"""Filters that act before the handler and ignore its answer. Adjacent ones run in a loop, without coroutines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator

from aiohttp import web

from apiext.api.endpoints.request import Handler

StepResult = web.StreamResponse | Awaitable[web.StreamResponse | None] | None
"""The answer of a step, or None to pass the request on; an awaitable of either if the step has to wait."""
_Enter = Callable[[web.BaseRequest], StepResult]


class FilterStep(ABC):
    """A filter that ignores the answer of the next handler.

    A coroutine for every filter costs more than the work of most filters. Each step takes over the steps behind
    it, so the chain stays one ordered list.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler: Handler = handler
        self._steps: tuple[_Enter, ...] = (self.enter,)
        later = getattr(handler, "__self__", handler)
        if isinstance(later, FilterStep):
            self._handler = later._handler  # noqa: SLF001
            self._steps += later._steps  # noqa: SLF001

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the first answer of a step, else the handler's. Raises their exceptions."""
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
        """Await the answer of a step; without one, pass the request to the later steps."""
        found = answer if isinstance(answer, web.StreamResponse) else await answer
        return await self._pass(request, later) if found is None else found

    @abstractmethod
    def enter(self, request: web.BaseRequest) -> StepResult:
        """Attach data to the request, or return an answer."""
