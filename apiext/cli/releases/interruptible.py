"""Commands that clean up when they are interrupted."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

_Result = TypeVar("_Result")


def run_interruptible(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine. SIGTERM cancels it as Ctrl-C does, so that it can end its processes and delete its temporary files.

    More of these signals do not end that.

    Raises:
        Abort: it was cancelled.
    """

    async def run() -> _Result:
        # other threads get no signals
        if (task := asyncio.current_task()) is not None and threading.current_thread() is threading.main_thread():
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task.cancelling() or task.cancel())
        return await work

    try:
        return asyncio.run(run())
    except (asyncio.CancelledError, KeyboardInterrupt) as error:
        raise click.exceptions.Abort from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end the work of a block as Ctrl-C does, so that it deletes its temporary files.

    Raises:
        Abort: it was ended.
    """
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as error:
        raise click.exceptions.Abort from error
    finally:
        signal.signal(signal.SIGTERM, former)
