"""A watch: first from the log, then live, and from the log again when it was too slow."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from typing import Final

from apiext.storage.backend import CompactedError, WatchBatch
from apiext.storage.sqlite.errors import translate
from apiext.storage.sqlite.reads import Reads
from apiext.storage.sqlite.watch_broadcast import Broadcaster, Subscription

_WINDOW: Final = 100
"""Revisions read from the log before other tasks get their turn."""


async def watch(broadcaster: Broadcaster, reads: Reads, prefix: str, start: int) -> AsyncIterator[WatchBatch]:
    """As `Backend.watch`."""
    subscription = broadcaster.subscribe(prefix)
    try:
        position = start - 1 if start else subscription.reached
        subscription.lagging = position < subscription.reached
        if start == 0:
            yield WatchBatch((), position)
        elif start < reads.compacted:
            raise CompactedError(reads.compacted)
        while not subscription.closed:
            await subscription.wait()
            if subscription.lagging:
                for batch in _replay(reads, subscription, position):
                    if batch.events:
                        yield batch
                    await asyncio.sleep(0)
                position = max(position, subscription.told)
            elif not subscription.closed:
                batch = _live(subscription, position)
                position = max(position, batch.revision)
                yield batch
    except (sqlite3.Error, UnicodeError) as error:
        raise translate(error) from error
    finally:
        broadcaster.unsubscribe(subscription)


def _replay(reads: Reads, subscription: Subscription, position: int) -> Iterator[WatchBatch]:
    """What the log holds after a position and up to where the subscription buffers again."""
    last = subscription.rejoin()
    while position < last and not subscription.closed:
        reached = min(position + _WINDOW, last)
        events = reads.changes(subscription.prefix, position + 1, reached)
        position = reached
        yield WatchBatch(events, reached)


def _live(subscription: Subscription, position: int) -> WatchBatch:
    reached = subscription.reached
    events = subscription.take()
    if events and events[0].revision <= position:  # a watch that starts in the future
        events = [event for event in events if event.revision > position]
    return WatchBatch(events, reached)
