"""Reads the unreadable objects of a watch cache again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.scheduling.time_slice import paced
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.stored_entry import EncryptedEntry

if TYPE_CHECKING:
    from apiext.storage.backend import Backend
    from apiext.storage.cacher.watch_cache import WatchCache
    from apiext.storage.rendering.renderer import Renderer


async def read_again(cache: WatchCache, backend: Backend, renderer: Renderer) -> None:
    """Replace entries that could not be decrypted and now can, after a change of the keys.

    No watch gets an event: one whose scope has an unreadable object has failed.

    Raises:
        BackendError: the backend does not answer.
    """
    unreadable = [entry async for entry in paced(tuple(cache.entries.values())) if isinstance(entry, EncryptedEntry)]
    for old in unreadable:
        pair, _ = await backend.get(renderer.prefix + old.key)
        if pair is not None and pair.revision == old.revision:
            new = entries.read(renderer, old.key, pair.value, pair.revision)
            if not isinstance(new, EncryptedEntry):
                cache.replace(old, new)
