"""Lists whose objects are freed in slices."""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

from apiext.scheduling.time_slice import Pace

T = TypeVar("T")

_STEP: Final = 256
"""Objects that are freed between two looks at the clock."""
_FREEING: Final[set[asyncio.Task[None]]] = set()


class GradualList(list[T]):
    """A list that leaves its objects to a task when its last reference is gone.

    A list that is the last to refer to 100,000 objects would free them in one piece, which takes 50 ms. Without a running event loop it
    does so.
    """

    __slots__ = ()

    def __del__(self) -> None:
        """Start the task, if there is much to free."""
        if len(self) <= _STEP:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        task = loop.create_task(_free(self[:]))
        _FREEING.add(task)
        task.add_done_callback(_FREEING.discard)


async def _free(objects: list[T]) -> None:
    pace = Pace()
    while objects:
        await pace.checkpoint()
        del objects[-_STEP:]
