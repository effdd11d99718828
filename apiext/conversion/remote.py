"""Conversion in worker processes: the server only calls the webhook, and counts the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.conversion.calls import BEGIN, OBSERVE, POST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from apiext.conversion.calls import ConversionCalls
    from apiext.conversion.metrics import ConversionCall
    from apiext.workers.server_link import ServerLink


def answers_of(calls: ConversionCalls) -> Mapping[str, Callable[..., Awaitable[Any]]]:
    """Return the server's answers to RemoteCalls."""
    return {BEGIN: calls.begin, POST: calls.post, OBSERVE: calls.observe}


class RemoteCalls:
    """Implements ConversionCalls: the server calls."""

    def __init__(self, link: ServerLink) -> None:
        self._link = link

    async def begin(self) -> tuple[str, float]:
        """Implement ConversionCalls.begin."""
        begun: tuple[str, float] = self._link.ask(BEGIN)
        return begun

    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        data: bytes = self._link.ask(POST, body)
        return data

    async def observe(self, call: ConversionCall) -> None:
        """Implement ConversionCalls.observe."""
        self._link.ask(OBSERVE, call)
