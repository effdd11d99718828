"""Writes values again that the first provider of the encryption has not encrypted with its first key, otherwise unchanged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.storage import keys
from apiext.storage.backend import UnreadableValue
from apiext.storage.paged_reads import PageLimit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.backend import Backend

_TOGETHER: Final = 5
"""Concurrent writes. They share the store's commits, and delay clients' writes little."""
_PAGE_SECONDS: Final = 5.0
"""Seconds after which a page ends."""


@dataclass(frozen=True, slots=True)
class ReencryptedPage:
    """The result for a part of a store."""

    examined: int
    written: int
    """Values that were written again. Values that a client replaced meanwhile do not count: the next pass sees them."""
    unreadable: Sequence[str]
    """Keys of values that cannot be decrypted, without the prefix."""
    after: str
    """The last examined key, without the prefix; empty at the end of the store."""


async def reencrypt_page(backend: Backend, prefix: str, after: str = "") -> ReencryptedPage:
    """Write the stale values below a prefix again, from the key that follows `after`, for a few seconds.

    Each write requires the revision of its read: no client's write is lost. Watches see a change without a difference.

    Raises:
        BackendError: the store does not answer, or a value cannot be encrypted.
    """
    root, size, loop = keys.root(prefix), PageLimit(), asyncio.get_running_loop()
    end, examined, written, unreadable = loop.time() + _PAGE_SECONDS, 0, 0, list[str]()
    while True:
        found = await backend.list(root, start=f"{root}{after}\0" if after else "", limit=size.keys)
        examined += len(found.items)
        unreadable += [pair.key.removeprefix(root) for pair in found.items if isinstance(pair.value, UnreadableValue)]
        stale = [pair for pair in found.items if pair.stale and not isinstance(pair.value, UnreadableValue)]
        for first in range(0, len(stale), _TOGETHER):
            group = stale[first : first + _TOGETHER]
            results = await asyncio.gather(*(backend.update(pair.key, pair.value, expected=pair.revision) for pair in group))
            written += sum(result.succeeded for result in results)
        after = found.items[-1].key.removeprefix(root) if found.more else ""
        if not after or loop.time() > end:
            return ReencryptedPage(examined, written, unreadable, after)
        size.adapt(found.items)
