"""The progress bar of `apiext plan`, on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.lab.plan.options import OnProgress

_MANY: Final = 1000
"""Objects from which on progress is shown."""


@contextmanager
def plan_progress() -> Iterator[OnProgress]:
    """Yield a function that shows progress if stderr is a terminal."""
    from apiext.lab.plan.options import ignore_progress

    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(name: str, judged: int, total: int | None) -> None:
            if total is not None and total < _MANY:
                return
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=judged)

        yield show
