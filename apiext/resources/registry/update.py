"""One update within the store's retry loop (apiserver pkg/registry/generic/registry/store.go, Update)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.metadata import (
    before_bounded_update,
    before_create,
    check_resource_version,
    given_resource_version,
    own,
    wipe_system_fields,
)
from apiext.storage.interface import Item

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.registry.request_context import RequestContext, UpdateOptions, Updater
    from apiext.resources.registry.strategy import Strategy


class EmptiedFinalizersError(Exception):
    """An update removed the last finalizer of an object that is being deleted: delete it instead of writing it."""

    def __init__(self, obj: Object, revision: int) -> None:
        super().__init__()
        self.obj = obj
        self.revision = revision


@dataclass(slots=True)
class UpdateCall:
    """Makes the new state of an object from the store's current one. `created` and `metadata` describe the last attempt."""

    ctx: RequestContext
    name: str
    updater: Updater
    options: UpdateOptions
    resource: GroupResource
    strategy: Strategy
    namespaced: bool
    created: bool = False
    metadata: Object = field(default_factory=dict)
    _warned: int = field(init=False)

    def __post_init__(self) -> None:
        self._warned = len(self.ctx.warnings)

    async def __call__(self, existing: Object, revision: int) -> Object:
        """Return the object to write.

        Raises:
            StatusError: the update is invalid or refused.
            EmptiedFinalizersError: the object is to be deleted.
        """
        # each attempt repeats the warnings
        del self.ctx.warnings[self._warned :]
        self.created = not revision
        if self.created:
            if not self.options.create:
                raise errors.not_found(self.resource, self.name)
            obj = own(await self.updater({}))
            self.metadata = obj["metadata"]
            given_resource_version(self.metadata)
            wipe_system_fields(self.metadata)
            await before_create(self.ctx, obj, self.strategy, self.options.admit, namespaced=self.namespaced)
            return obj
        obj = own(await self.updater(existing))
        check_resource_version(
            obj["metadata"],
            revision,
            resource=self.resource,
            name=self.name,
            unconditional=self.strategy.allow_unconditional_update,
        )
        await before_bounded_update(self.ctx, obj, existing, self.strategy, namespaced=self.namespaced)
        if self.options.admit is not None:
            await self.options.admit(AdmissionOperation.UPDATE, obj, existing)
        self.metadata = obj["metadata"]
        if self._is_finished(obj, existing):
            raise EmptiedFinalizersError(obj, revision)
        return obj

    def _is_finished(self, obj: Object, existing: Object) -> bool:
        before = existing["metadata"]
        return (
            "deletionTimestamp" in before
            and not obj["metadata"].get("finalizers")
            and not before.get("deletionGracePeriodSeconds")
            and self.strategy.may_delete_during_update(obj, existing)
        )


def with_sent_metadata(item: Item, metadata: Object) -> Item:
    """Return a dry run's result with the client's selfLink. Without a revision it also keeps the client's resourceVersion."""
    kept = {name: metadata[name] for name in ("resourceVersion", "selfLink") if metadata.get(name)}
    if item.revision:
        kept.pop("resourceVersion", None)
    if not kept:
        return item
    obj = item.object()
    obj["metadata"] |= kept
    return Item(key=item.key, revision=item.revision, data=json_codec.dumps(obj), labels=item.labels, fields=item.fields)
