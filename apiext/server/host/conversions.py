"""Follows the host's Conversions, whose rules convert the custom resources that this server has taken over."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks, run_until_closed
from apiext.resources.conversion.known import Origin
from apiext.resources.definitions.stored_conversions import HOST_CONVERSIONS
from apiext.server.host.discovery import HostDiscovery
from apiext.server.host.served_reflector import ServedReflector
from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.base.webhook.client import WebhookClient
    from apiext.base.webhook.reflector import Found
    from apiext.resources.conversion.known import KnownConversions
    from apiext.storage.replicas.host_records import HostRecords

_LOG: Final = get_logger(__name__)
_GROUP_VERSION: Final = "conversions.apiext.dev/v1alpha1"
_PLURAL: Final = "conversions"
NOT_LISTED: Final = "the Conversions of the host have not been listed yet"


class HostConversions:
    """Implements Follower. The store keeps the host's Conversions, so that a server that starts without the host converts by them."""

    type_name: Final = "*v1alpha1.Conversion"

    def __init__(self, known: KnownConversions, records: HostRecords) -> None:
        self._known = known
        self._records = records
        self._changed = asyncio.Event()
        self.synced = False
        """Whether the first list is complete."""

    async def recall(self) -> None:
        """Use the Conversions that the store keeps. Without any record, none are known."""
        try:
            record = await self._records.get(HOST_CONVERSIONS)
        except BackendError as error:
            _LOG.warning("the host's Conversions cannot be recalled", error=str(error))
            return
        if record is not None and not self.synced:
            self._known.replace(Origin.OBJECT, record["items"])
            self._known.settle()

    def replaced(self, objects: Sequence[Found]) -> None:
        """Implement Follower.replaced."""
        self._known.replace(Origin.OBJECT, objects)
        self._known.settle()
        self.synced = True
        self._changed.set()

    def changed(self, found: Found) -> None:
        """Implement Follower.changed."""
        self._known.put(Origin.OBJECT, found)
        self._changed.set()

    def deleted(self, found: Found) -> None:
        """Implement Follower.deleted."""
        self._known.remove(Origin.OBJECT, found["metadata"]["name"])
        self._changed.set()

    async def remember(self) -> None:
        """Keep each state in the store until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            items = [{"metadata": {"name": one.name}, **_shape(one.document)} for one in self._known if one.origin is Origin.OBJECT]
            try:
                await self._records.put(HOST_CONVERSIONS, {"items": items})
            except BackendError as error:
                _LOG.warning("the host's Conversions cannot be remembered", error=str(error))


def _shape(document: Found) -> Found:
    return {name: document[name] for name in ("apiVersion", "kind", "spec") if name in document}


async def follow_host_conversions(
    client: WebhookClient, known: KnownConversions, records: HostRecords, stack: AsyncExitStack
) -> HostConversions:
    """Follow the Conversions of the host until `stack` closes. A host without their definition has none."""
    follower = HostConversions(known, records)
    await follower.recall()
    find = partial(HostDiscovery(client.ask).named, _GROUP_VERSION, _PLURAL)
    reflector = ServedReflector(client, find, follower, what=_PLURAL, absent=partial(follower.replaced, ()))
    run_until_closed(stack, reflector.run())
    remembering = asyncio.create_task(follower.remember())
    stack.push_async_callback(end_tasks, remembering)
    return follower
