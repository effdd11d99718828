"""The Store of a worker process: asks the server to read and write the stored bytes of single objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from apiext.storage.direct.store import DirectStore
from apiext.storage.rendering.json_rendering import Renderer

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource
    from apiext.storage.backend import Backend, KeyValue, WriteResult
    from apiext.storage.interface import Codec, Item
    from apiext.storage.writer import WriteEncoding
    from apiext.workers.server_link import ServerLink


@dataclass(frozen=True, slots=True)
class _RemoteBackend:
    """The methods of a Backend that a RemoteStore uses. The server applies its guard. Its answers block."""

    _link: ServerLink

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """See Backend.get."""
        answer: tuple[KeyValue | None, int] = self._link.ask("get", key)
        return answer

    async def delete(self, key: str, *, expected: int, guard: None = None) -> WriteResult:
        """See Backend.delete."""
        result: WriteResult = self._link.ask("delete", key, expected)
        return result


class RemoteStore(DirectStore):
    """Gets and writes single objects through Store.answers of the server's store. It has no lists and watches."""

    def __init__(self, link: ServerLink, resource: GroupResource) -> None:
        prefix: str = link.ask("prefix")
        super().__init__(backend=cast("Backend", _RemoteBackend(link)), renderer=Renderer(prefix), resource=resource, bookmark_interval=0.0)
        self._link = link
        self._has_draft = False
        """Whether the server has the rendering of the last write."""

    async def _commit(self, codec: Codec, key: str, encoding: WriteEncoding, expected: int) -> WriteResult:
        draft = encoding.draft or self.renderer.draft(codec, key, encoding.encoded, encoding.source)
        self._has_draft = draft is not None
        result: WriteResult = self._link.ask("commit", self._backend_key(key), encoding.encoded.stored, expected, draft)
        return result

    def written(self, codec: Codec, item: Item) -> None:
        """Give the rendering to the server, for the event of the write."""
        if not self._has_draft:
            self._link.ask("written", item)
