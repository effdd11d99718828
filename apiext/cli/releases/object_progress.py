"""Progress of commands that read many objects: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def shown_progress() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a function that shows how many objects of a definition are done, and how many there are in all if that is known."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    # rich loads slowly
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(name: str, done: int, total: int | None) -> None:
            bar.update(task, description=name, completed=done, total=None if total is None else max(total, done))

        yield show
