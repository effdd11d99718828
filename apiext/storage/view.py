"""The objects of a resource as one codec renders them."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Final

from apiext.storage.interface import CorruptObjectError, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.meta.gvk import GroupVersionKind
    from apiext.storage.entry import Entry
    from apiext.storage.interface import Codec
    from apiext.storage.rendering import Renderer, RenderResult, Stored

    Rendering = asyncio.Task[dict[Entry, RenderResult]]

_BATCH: Final = 500
"""Objects that are converted by one call at most."""


class View:
    """Renders entries with a codec.

    A view refers to its codec weakly: readers and watchers hold the codec.
    """

    __slots__ = ("__weakref__", "_codec", "_renderer", "_rendering", "gvk", "inline")

    def __init__(self, codec: Codec, renderer: Renderer, released: Callable[[View], None] | None = None) -> None:
        self.gvk: GroupVersionKind = codec.gvk
        self.inline: bool = codec.conversion is None
        """Whether `render` can be used; otherwise entries are rendered by `items` first."""
        self._renderer = renderer
        self._codec = self._reference(codec, released)
        self._rendering: dict[Entry, Rendering] = {}

    def _reference(self, codec: Codec, released: Callable[[View], None] | None) -> Callable[[], Codec | None]:
        def release(_: object) -> None:
            if released is not None:
                released(self)

        return weakref.ref(codec, release)

    def _held(self) -> Codec:
        codec = self._codec()
        if codec is None:
            raise AssertionError("the codec of a view in use is garbage")
        return codec

    def render(self, key: str, raw: bytes, revision: int) -> Item:
        """Render stored bytes, in an inline view.

        Raises:
            CorruptObjectError: the bytes cannot be decoded.
        """
        if not self.inline:
            raise AssertionError("an entry is used before it was converted")
        return self._renderer.item(self._held(), key, raw, revision)

    async def item(self, entry: Entry) -> Item:
        """Return the rendering of an entry.

        Raises:
            CorruptObjectError: the entry cannot be decoded or converted.
            StatusError: the converter cannot be used.
        """
        if self.inline:
            return entry.item(self)
        (shown,) = await self.items([entry])
        if isinstance(shown, Item):
            return shown
        raise shown

    async def items(self, entries: Sequence[Entry]) -> list[RenderResult]:
        """Return the renderings of entries; in the place of one that fails stands its error.

        Entries keep their renderings. An entry that several readers want at the same time is converted once.
        """
        missing = [entry for entry in entries if entry.cached(self) is None and entry not in self._rendering]
        if missing:
            task = asyncio.get_running_loop().create_task(self._render_all(self._held(), missing))
            self._rendering |= dict.fromkeys(missing, task)
        tasks = {entry: self._rendering[entry] for entry in entries if entry in self._rendering}
        if tasks:
            # a reader that is cancelled does not cancel the others' conversion
            await asyncio.wait(set(tasks.values()))
        return [entry.cached(self) or tasks[entry].result()[entry] for entry in entries]

    async def _render_all(self, codec: Codec, entries: Sequence[Entry]) -> dict[Entry, RenderResult]:
        shown: dict[Entry, RenderResult] = {}
        try:
            for first in range(0, len(entries), _BATCH):
                shown |= await self._render_batch(codec, entries[first : first + _BATCH])
        finally:
            for entry in entries:
                del self._rendering[entry]
        return shown

    async def _render_batch(self, codec: Codec, entries: Sequence[Entry]) -> dict[Entry, RenderResult]:
        shown: dict[Entry, RenderResult] = {}
        stored: dict[Entry, Stored] = {}
        for entry in entries:
            try:
                stored[entry] = entry.key, entry.raw, entry.revision
            except CorruptObjectError as error:
                shown[entry] = error
        for entry, item in zip(stored, await self._renderer.items(codec, list(stored.values())), strict=True):
            shown[entry] = entry.adopt(self, item) if isinstance(item, Item) else item
        return shown
