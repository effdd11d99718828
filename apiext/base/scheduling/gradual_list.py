"""Lists whose objects are freed in slices."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final, TypeVar

from apiext.base.scheduling.time_slice import Pace

T = TypeVar("T")

_FREEING: Final[set[asyncio.Task[None]]] = set()


class GradualList(list[T]):
    """A list that leaves its objects to a task when its last reference is gone.

    A list that is the last to refer to 100,000 objects would free them in one piece, which takes 50 ms. Without a running event loop it
    does so.
    """

    __slots__ = ()
    step: ClassVar[int] = 256
    """Objects that are freed between two looks at the clock."""

    def __del__(self) -> None:
        """Start the task, if there is much to free."""
        if len(self) <= self.step:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        task = loop.create_task(_free(self[:], self.step))
        _FREEING.add(task)
        task.add_done_callback(_FREEING.discard)


class GradualListOfLarge(GradualList[T]):
    """A list of objects each of which takes a while to free, such as a compiled path of thousands of steps."""

    __slots__ = ()
    step = 1


async def _free(objects: list[T], step: int) -> None:
    pace = Pace()
    while objects:
        await pace.checkpoint()
        del objects[-step:]
