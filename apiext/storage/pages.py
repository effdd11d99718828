"""Reads of a whole key prefix, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from apiext.meta.tasks import end_tasks
from apiext.storage.backend import Backend, RangeResult


async def pages(backend: Backend, prefix: str, *, limit: int, start: str = "", revision: int = 0) -> AsyncGenerator[RangeResult]:
    """Yield pages of a prefix from a key on, all at one revision (0: that of the first page). Read ahead by one page.

    Raises:
        CompactedError: the revision was compacted meanwhile.
        BackendError: the backend does not answer.
    """
    result = await backend.list(prefix, start=start, revision=revision, limit=limit)
    revision = revision or result.revision
    while result.more:
        following = asyncio.create_task(backend.list(prefix, start=f"{result.items[-1].key}\0", revision=revision, limit=limit))
        try:
            yield result
            result = await following
        finally:
            # the caller may stop, or be cancelled
            await end_tasks(following)
    yield result
