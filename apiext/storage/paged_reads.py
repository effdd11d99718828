"""Reads of a whole key prefix: by a stream, or page by page. Number and, if known, size of the values limit a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Final

from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import Backend, KeyValue, RangeResult, UnavailableError

_FIRST_KEYS: Final = 8
"""Keys of the first page, whose sizes are unknown: 12 MiB of the largest objects that etcd accepts by default."""
_MAX_KEYS: Final = 1000
"""Keys of a page; more are no faster."""
_GROWTH: Final = 8
"""Factor by which a page may grow over the previous one: larger objects may follow small ones."""
_PAGE_BYTES: Final = 4 << 20
"""Bytes of a page's values, if they are as large as in the previous page. The caller and the read ahead hold a page each."""


class PageLimit:
    """The number of keys of the next page, by the mean size of the values of the previous one."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys = _FIRST_KEYS

    def adapt(self, page: Sequence[KeyValue]) -> None:
        """Set the number of keys of the next page."""
        fitting = len(page) * _PAGE_BYTES // max(1, sum(len(pair.value) for pair in page))
        self.keys = max(1, min(_MAX_KEYS, _GROWTH * self.keys, fitting))


async def pages(backend: Backend, prefix: str, *, start: str = "", revision: int = 0) -> AsyncGenerator[RangeResult]:
    """Yield pages of a prefix from a key on, all at one revision (0: that of the first page). Read ahead: a page, or a stream's window.

    Raises:
        CompactedError: the revision was compacted meanwhile.
        BackendError: the backend does not answer.
    """
    size = PageLimit()
    result = await backend.list(prefix, start=start, revision=revision, limit=size.keys)
    revision = revision or result.revision
    stream = backend.stream(prefix, start=_after(result), revision=revision) if result.more else None
    if stream is not None:
        yield result
        # where a stream ends early, lists go on
        with suppress(UnavailableError):
            async with aclosing(stream):
                async for items in stream:
                    result = RangeResult(items, revision, result.count - len(result.items))
                    yield result
        if not result.more:
            return
        size.adapt(result.items)
        result = await backend.list(prefix, start=_after(result), revision=revision, limit=size.keys)
    while result.more:
        size.adapt(result.items)
        following = asyncio.create_task(backend.list(prefix, start=_after(result), revision=revision, limit=size.keys))
        try:
            yield result
            result = await following
        finally:
            # the caller may stop, or be cancelled
            await end_tasks(following)
    yield result


def _after(result: RangeResult) -> str:
    """Return the key from which the next page starts."""
    return f"{result.items[-1].key}\0"


async def latest_pages(backend: Backend, prefix: str) -> AsyncGenerator[Sequence[KeyValue]]:
    """Yield the pages of a prefix, each in its state when the caller asks for it.

    Raises:
        BackendError: the backend does not answer.
    """
    size, start = PageLimit(), ""
    while True:
        result = await backend.list(prefix, start=start, limit=size.keys)
        yield result.items
        if not result.more:
            return
        size.adapt(result.items)
        start = f"{result.items[-1].key}\0"
