"""The Conversions and the records about them in a store, for those that read it without a server."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.base.meta.gvk import GroupResource
from apiext.resources.conversion.rules.model import GROUP, PLURAL
from apiext.storage import stored_object
from apiext.storage.errors import CorruptObjectError
from apiext.storage.paged_reads import pages
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.factory import StoreFactory

HOST_CONVERSIONS: Final = "host-conversions"
"""The record of the host's Conversions (storage/replicas/host_records.py)."""
RULES_IN_USE: Final = "conversion-rules-in-use"
"""The record of the rules by which the servers of the store convert: digests by the name of the CRD."""


async def read_conversions(stores: StoreFactory) -> list[Object]:
    """Return the Conversions of a store whose server does not run here, with those that it has from its host. Leave out unreadable ones.

    Raises:
        BackendError: the store does not answer.
    """
    found = []
    renderer = Renderer(stores.key_prefix(GroupResource(GROUP, PLURAL)))
    async for page in pages(stores.backend, renderer.prefix):
        for pair in page.items:
            with suppress(CorruptObjectError, ValueError):
                found.append(stored_object.loads(renderer.open(pair.key.removeprefix(renderer.prefix), pair.value)))
    host = await HostRecords(stores.backend, stores.prefix).get(HOST_CONVERSIONS) or {}
    return [*host.get("items", ()), *found]
