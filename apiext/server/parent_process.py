"""Notices the end of the process that started the server (`--exit-with-parent`)."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def parent_descriptor() -> Generator[int | None]:
    """Yield a descriptor that becomes readable when the parent process ends, None if it has ended.

    A signal of the kernel (PR_SET_PDEATHSIG) would also come when the thread ends that started the server, as threads of Go programs do.

    Raises:
        StartError: the kernel has no file descriptors of processes (before Linux 5.3).
    """
    try:
        handle = os.pidfd_open(os.getppid())
    except ProcessLookupError:
        # it ended before the call
        yield None
        return
    except OSError as error:
        raise StartError(f"--exit-with-parent: {error.strerror}: it needs Linux 5.3 or newer") from error
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def parent_followed(ended: asyncio.Event) -> Generator[None]:
    """Set an event when the parent process ends, however it ends, while the block runs. Raises as `parent_descriptor`."""
    with parent_descriptor() as handle:
        if handle is None:
            ended.set()
            yield
            return
        loop = asyncio.get_running_loop()

        def end() -> None:
            loop.remove_reader(handle)
            ended.set()

        loop.add_reader(handle, end)
        try:
            yield
        finally:
            loop.remove_reader(handle)
