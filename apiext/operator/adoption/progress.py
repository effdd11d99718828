"""How far something has come: on the host once a second, and as a bar where somebody looks on."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, Final, Self

from apiext.meta.tasks import end_tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_INTERVAL: Final = 1.0


class Progress:
    """Numbers of objects that are done and to be done; told while it is entered, and once more at the end."""

    def __init__(self, tell: Callable[[str], Awaitable[None]], title: str, words: str) -> None:
        self._tell = tell
        self._title = title.partition(" {")[0]
        self._words = words
        self._done: dict[str, tuple[int, int]] = {}
        self._said = ""
        self._task: asyncio.Task[None] | None = None
        self._bar: Any = None

    def of(self, name: str) -> Callable[[int, int], None]:
        """To be told of one part, how much is done and how much there is."""

        def step(done: int, total: int) -> None:
            self._done[name] = (done, total)
            if self._bar is not None:
                now, all_ = self._sums()
                self._bar.update(self._bar.task_ids[0], completed=now, total=all_ or None)

        return step

    async def __aenter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = _bar(self._title)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._task is not None:
            await end_tasks(self._task)
        if _exc[0] is None:
            await self._say()

    async def _run(self) -> None:
        while True:
            await self._say()
            await asyncio.sleep(_INTERVAL)

    async def _say(self) -> None:
        done, total = self._sums()
        message = self._words.format(done=done, total=total)
        if message != self._said and self._done:
            self._said = message
            await self._tell(message)

    def _sums(self) -> tuple[int, int]:
        return sum(done for done, _ in self._done.values()), sum(total for _, total in self._done.values())


def _bar(title: str) -> Any:
    """A bar on the terminal, which goes away at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(title, total=None)
    bar.start()
    return bar
