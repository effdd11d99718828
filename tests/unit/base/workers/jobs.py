"""Jobs of worker processes for tests, and the states of processes."""

import asyncio
import os
from pathlib import Path
from typing import Protocol

from apiext.base.workers.pool import WorkerPool
from apiext.base.workers.server_link import ServerLink


def rehearse() -> None:
    """Prepare nothing: templates call it."""


class Waiting(Protocol):
    """What jobs may call in the server, which takes long."""

    async def wait(self, user: str) -> str:
        """Return the user."""
        ...


def joined(*parts: bytes) -> tuple[int, bytes]:
    """Return the process and the joined parts."""
    return os.getpid(), b"".join(parts)


def endless() -> None:
    """Keep the process busy."""
    while True:
        pass


async def endless_after_a_question(link: ServerLink) -> None:
    """Ask the server, then keep the process busy."""
    link.ask(Waiting.wait, "a")
    endless()


async def begun(pool: WorkerPool, *, user: str = "", kind: str = "") -> asyncio.Future[None]:
    """Return an endless job once it has begun."""
    asked = asyncio.Event()

    async def answer(user: str) -> str:
        asked.set()
        return user

    job = asyncio.ensure_future(pool.converse(endless_after_a_question, answers={Waiting.wait: answer}, user=user, kind=kind))
    # a test may end before the job does
    job.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asked.wait()
    return job


def state(pid: int) -> str:
    """Return the letter of a process's state, "" if there is no process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


def ended(pid: int) -> bool:
    """Return whether a process is gone."""
    return not state(pid)
