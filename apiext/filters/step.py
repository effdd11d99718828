"""Filters that only look at what comes in: steps that follow each other run in one frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from aiohttp import web

from apiext.endpoints.request import Handler


class Step(ABC):
    """A filter that has nothing to wait for and nothing to do with the answer.

    Around each request stands a coroutine for every filter, which costs more than what most of them do. A step takes the
    steps behind it into its own, so that the chain stays the one list that tells the order.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler: Handler = handler
        self._steps: tuple[Callable[[web.BaseRequest], web.StreamResponse | None], ...] = (self.enter,)
        if isinstance(handler, Step):
            self._handler = handler._handler  # noqa: SLF001
            self._steps += handler._steps  # noqa: SLF001

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on, unless a step answers it. Raises what the steps raise."""
        for enter in self._steps:
            answer = enter(request)
            if answer is not None:
                return answer
        return await self._handler(request)

    @abstractmethod
    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Attach something to the request, or answer it."""
