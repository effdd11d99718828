"""Verbs that report each write to a function, before the watch does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from apiext.resources.registry.rest import ResourceRest

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions, Updater
    from apiext.storage.interface import Item


class Observer(Protocol):
    """Follows the objects of a resource."""

    def observe(self, item: Item) -> None:
        """Take a written object."""
        ...

    def forget(self, item: Item) -> None:
        """Drop an object, given its last state with the revision of its deletion."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class ObservedRest(ResourceRest):
    """ResourceRest whose observer sees each write before its response: the next request depends on it."""

    observer: Observer
    in_workers: bool = False
    """Whether large writes may run in worker processes. The observer sees these with their watch events."""

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Create an object."""
        item = await ResourceRest.create(self, ctx, obj, options)
        if not options.dry_run:
            self.observer.observe(item)
        return item

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Update an object."""
        item, created = await ResourceRest.update(self, ctx, name, updater, options)
        metadata = item.object()["metadata"]
        # without finalizers an object that is being deleted is gone, which the watch reports
        if not options.dry_run and ("deletionTimestamp" not in metadata or metadata.get("finalizers")):
            self.observer.observe(item)
        return item, created

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object or mark it for deletion."""
        item, gone = await ResourceRest.delete(self, ctx, name, options)
        if gone and not options.dry_run:
            self.observer.forget(item)
        return item, gone


def observed(rest: ResourceRest, observer: Observer, *, in_workers: bool = False) -> ObservedRest:
    """Return the verbs of a resource with an observer; `in_workers` as in ObservedRest."""
    return ObservedRest(
        store=rest.store,
        codec=rest.codec,
        strategy=rest.strategy,
        resource=rest.resource,
        namespaced=rest.namespaced,
        observer=observer,
        in_workers=in_workers,
    )
