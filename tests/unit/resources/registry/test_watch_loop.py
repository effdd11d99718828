"""Watches that are opened again."""

import asyncio
from contextlib import suppress
from unittest.mock import create_autospec

import pytest

from apiext.base.meta import errors
from apiext.base.meta.log import Logger
from apiext.resources.registry.request_context import RequestContext
from apiext.resources.registry.watch_loop import follow
from apiext.storage.interface import Event, EventType, Item, Watch, WatchOptions
from apiext.storage.rendering import event_lines
from apiext.storage.rendering.watch_queue import WatchQueue


def added(name: str) -> Event:
    """Return the event of an object."""
    return event_lines.event(EventType.ADDED, Item(key=name, revision=1, data=b"{}", labels={}, fields={}))


@pytest.mark.parametrize("error", [errors.internal("x"), RuntimeError("x")])
async def test_opens_again(error: Exception) -> None:
    """Open the watch again when it ends and after a failure, expected or not."""
    seen: list[str] = []
    done = asyncio.Event()
    answers: list[Exception | str] = ["a", error, "b"]

    async def opened(_context: RequestContext, _options: WatchOptions) -> Watch:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        watch: WatchQueue[Event] = WatchQueue(backlog=iter([added(answer)]), closed=lambda _watch: None)
        if answers:
            watch.finish()
        return watch

    def handle(event: Event) -> None:
        assert event.item is not None
        seen.append(event.item.key)
        if not answers:
            done.set()

    log = create_autospec(Logger, instance=True)
    task = asyncio.create_task(follow(opened, handle, log=log, failed="watch failed, retrying", pauses=(0.0, 0.0)))
    await done.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert seen == ["a", "b"]
    assert log.warning.called != log.exception.called
