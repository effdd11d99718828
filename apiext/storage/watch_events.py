"""Passes on the events of a watch to callers that list again when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage.interface import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.storage.interface import Event, Watch


async def pass_events(watch: Watch, handle: Callable[[Event], None]) -> None:
    """Call a function with each event of a watch until the watch ends or reports an error. Close the watch, whatever happens.

    Raises what the watch and the function raise.
    """
    try:
        async for batch in watch:
            for event in batch:
                if event.type is EventType.ERROR:
                    return
                handle(event)
    finally:
        watch.close()
