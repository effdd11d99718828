"""The server, as jobs in worker processes see it: objects whose methods call methods of interfaces there.

Each call blocks the process, which has nothing else to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.api.serving.remote.server_interfaces import ServerDefinitions
from apiext.resources.conversion.calls import ConversionCalls
from apiext.storage.interface import ServerStore

if TYPE_CHECKING:
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.server_link import ServerLink
    from apiext.resources.conversion.calls import WebhookAnswer, WebhookCall
    from apiext.resources.conversion.metrics import ConversionOutcome
    from apiext.resources.definitions.codec import CRDCodec
    from apiext.storage.backend import KeyValue, WriteResult
    from apiext.storage.direct.remote_store import RemoteStore
    from apiext.storage.encoded_object import EncodedDraft
    from apiext.storage.interface import Item
    from apiext.storage.stored_bytes.version_counts import StoredCounts


@dataclass(frozen=True, slots=True)
class AskedStore:
    """Implements ServerStore."""

    link: ServerLink

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement ServerStore.get."""
        return self.link.ask(ServerStore.get, key)

    async def commit(self, key: str, raw: bytes, expected: int, draft: EncodedDraft | Item | None) -> WriteResult:
        """Implement ServerStore.commit."""
        return self.link.ask(ServerStore.commit, key, raw, expected, draft)

    async def delete(self, key: str, expected: int) -> WriteResult:
        """Implement ServerStore.delete."""
        return self.link.ask(ServerStore.delete, key, expected)

    async def written(self, item: Item) -> None:
        """Implement ServerStore.written."""
        self.link.ask(ServerStore.written, item)


@dataclass(frozen=True, slots=True)
class AskedCalls:
    """Implements ConversionCalls."""

    link: ServerLink

    async def post(self, call: WebhookCall) -> WebhookAnswer:
        """Implement ConversionCalls.post."""
        return self.link.ask(ConversionCalls.post, call)

    async def observe(self, number: int, outcome: ConversionOutcome) -> None:
        """Implement ConversionCalls.observe."""
        self.link.ask(ConversionCalls.observe, number, outcome)


@dataclass(frozen=True, slots=True, eq=False)
class AskedDefinitions:
    """Implements ObservedDefinitions: the server's catalog sees each write at once."""

    store: RemoteStore
    link: ServerLink
    codec: CRDCodec

    def observe(self, item: Item) -> None:
        """Put a definition into the catalog."""
        self.link.ask(ServerDefinitions.observe, item)

    def forget(self, name: str, revision: int) -> None:
        """Remove a deleted definition from the catalog."""
        self.link.ask(ServerDefinitions.forget, name, revision)

    async def count_stored(self, resource: GroupResource) -> StoredCounts:
        """Return the number of stored objects of a resource by version."""
        return self.link.ask(ServerDefinitions.count_stored, resource)
