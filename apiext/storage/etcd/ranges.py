"""Lists, page by page, all pages at the revision of the first."""

from __future__ import annotations

from typing import Final

from apiext.storage.backend import CompactedError, FutureRevisionError, KeyValue, RangeResult
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import RANGE, Calls
from apiext.storage.etcd.errors import RevisionAhead, RevisionCompacted
from apiext.storage.etcd.messages import key_value, range_end, range_start

_PAGE: Final = 500
_LARGEST_PAGE: Final = 2000
"""Keys asked for at once: turning them into values is a few milliseconds of the loop's time."""
_PAGE_BYTES: Final = 4 << 20
"""What a page is meant to weigh; the pages after the first are sized by what the last one weighed."""


async def list_range(calls: Calls, prefix: str, *, start: str, revision: int, limit: int) -> RangeResult:
    """As `Backend.list`."""
    key, end = range_start(prefix, start), range_end(prefix)
    items: list[KeyValue] = []
    count, at, page = 0, revision, _PAGE
    while True:
        size = min(page, limit - len(items)) if limit else page
        request = rpc.RangeRequest(key=key, range_end=end, limit=size, revision=at)
        try:
            response = await calls.read(RANGE, request)
        except RevisionCompacted as error:
            # etcd does not say up to where; at least what was asked for is gone.
            raise CompactedError(at + 1) from error
        except RevisionAhead as error:
            raise FutureRevisionError(await latest(calls, key)) from error
        if not items:
            count, at = response.count, revision or response.header.revision
        kvs = response.kvs
        items.extend([key_value(kv) for kv in kvs])
        if not response.more or (limit and len(items) >= limit):
            return RangeResult(items, at, count)
        key = kvs[-1].key + b"\0"
        page = _next_page(size, response.ByteSize())


async def latest(calls: Calls, key: bytes, *, deadline: float = 0) -> int:
    """The store's revision, linearizable; read by way of any key."""
    response = await calls.read(RANGE, rpc.RangeRequest(key=key, count_only=True), deadline=deadline)
    revision: int = response.header.revision
    return revision


def _next_page(size: int, weight: int) -> int:
    return max(1, min(_LARGEST_PAGE, size * _PAGE_BYTES // max(weight, 1)))
