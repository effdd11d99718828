"""The Store of a worker process: asks the server to read and write the stored bytes of single objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from apiext.storage.direct.store import DirectStore
from apiext.storage.interface import DEFAULT_WRITE
from apiext.storage.rendering.renderer import Renderer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.storage.backend import Backend, KeyValue, WriteResult
    from apiext.storage.interface import Codec, Item, ServerStore, WriteOptions
    from apiext.storage.writer import WriteEncoding


@dataclass(frozen=True, slots=True)
class _RemoteBackend:
    """The methods of a Backend that a RemoteStore uses. The server applies its guard."""

    _server: ServerStore

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """See Backend.get."""
        return await self._server.get(key)

    async def delete(self, key: str, *, expected: int, guard: None = None) -> WriteResult:
        """See Backend.delete."""
        return await self._server.delete(key, expected)


class RemoteStore(DirectStore):
    """Gets and writes single objects by the store of the server. It has no lists and watches."""

    def __init__(self, server: ServerStore, prefix: str, resource: GroupResource) -> None:
        """Create the store of a resource with a key prefix."""
        backend = cast("Backend", _RemoteBackend(server))
        super().__init__(backend=backend, renderer=Renderer(prefix), resource=resource, bookmark_interval=0.0)
        self._server = server
        self._has_draft = False
        """Whether the server has the rendering of the last write."""
        self._written: Item | None = None
        """What was written without a draft, and is not shown to the server yet."""

    def written(self, codec: Codec, item: Item) -> None:
        """Process the rendering of a created or updated object."""
        self._written = None if self._has_draft else item

    async def create(self, key: str, obj: Object, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Item:
        """Implement Store.create."""
        item = await super().create(key, obj, codec, options)
        await self._show()
        return item

    async def guaranteed_update(
        self, key: str, codec: Codec, update: Callable[[Object, int], Awaitable[Object]], options: WriteOptions = DEFAULT_WRITE
    ) -> tuple[Item, bool]:
        """Implement Store.guaranteed_update."""
        outcome = await super().guaranteed_update(key, codec, update, options)
        await self._show()
        return outcome

    async def _show(self) -> None:
        """Give the rendering of the last write to the server, for the event of the write."""
        item, self._written = self._written, None
        if item is not None:
            await self._server.written(item)

    async def _commit(self, codec: Codec, key: str, encoding: WriteEncoding, expected: int) -> WriteResult:
        draft = encoding.draft or self.renderer.draft(codec, key, encoding.encoded, encoding.source)
        self._has_draft = draft is not None
        return await self._server.commit(self._backend_key(key), encoding.encoded.stored, expected, draft)
