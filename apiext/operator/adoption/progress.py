"""Shows the progress of a copy: in a condition on the host once a second, and as a bar on a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self

from apiext.base.scheduling.tasks import end_tasks

_INTERVAL_SECONDS: Final = 1.0


class Progress:
    """Reports the numbers of finished and of all objects, while the context is open and once after success."""

    def __init__(self, report: Callable[[str], Awaitable[None]], title: str, template: str) -> None:
        self._report = report
        self._title = title.partition(" {")[0]
        self._template = template
        self._done: dict[str, tuple[int, int]] = {}
        self._reported = ""
        self._task: asyncio.Task[None] | None = None
        self._bar: Any = None

    def of(self, name: str) -> Callable[[int, int], None]:
        """Return the callback of one part; its arguments are the numbers of finished and of all objects."""

        def update(done: int, total: int) -> None:
            self._done[name] = (done, total)
            if self._bar is not None:
                now, all_ = self._sums()
                self._bar.update(self._bar.task_ids[0], completed=now, total=all_ or None)

        return update

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
            await self._report_sums()

    async def _run(self) -> None:
        while True:
            await self._report_sums()
            await asyncio.sleep(_INTERVAL_SECONDS)

    async def _report_sums(self) -> None:
        done, total = self._sums()
        message = self._template.format(done=done, total=total)
        if message != self._reported and self._done:
            self._reported = message
            await self._report(message)

    def _sums(self) -> tuple[int, int]:
        return sum(done for done, _ in self._done.values()), sum(total for _, total in self._done.values())


def _bar(title: str) -> Any:
    """Return a started progress bar, which is erased at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(title, total=None)
    bar.start()
    return bar
