"""Reopens a watch whenever it ends (client-go tools/cache/reflector.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from apiext.resources.registry.request_context import RequestContext
from apiext.storage.interface import WatchOptions
from apiext.storage.watch_events import repeat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.base.meta.log import Logger
    from apiext.base.scheduling.backoff import Backoff
    from apiext.storage.interface import Event, Watch

    OpenWatch = Callable[[RequestContext, WatchOptions], Awaitable[Watch]]


async def follow(
    opened: OpenWatch, handle: Callable[[Event], None], *, log: Logger, failed: str, pauses: tuple[float, float] = (0.1, 5.0)
) -> NoReturn:
    """Pass the events of a resource to a function until cancelled. Each reopened watch reports all objects as added again.

    `opened` is the watch verb of the resource's REST, `failed` the log event of a failure. `pauses` are the seconds before the first
    retry, and the longest before a later one.
    """

    async def step(backoff: Backoff) -> None:
        watch = await opened(RequestContext(), WatchOptions())
        try:
            async for events in watch:
                for event in events:
                    handle(event)
        finally:
            watch.close()
        backoff.reset()

    await repeat(step, log=log, failed=failed, pauses=pauses)
