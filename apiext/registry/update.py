"""One update within the store's retry loop (apiserver pkg/registry/generic/registry/store.go, Update)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import background, errors, json_codec, names
from apiext.registry.metadata import before_create, before_update, check_resource_version, fill_system_fields, own, wipe_system_fields
from apiext.registry.request_context import AdmissionOperation
from apiext.storage.interface import InvalidObjectError, Item

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext, UpdateOptions, Updater
    from apiext.registry.strategy import Strategy


class EmptiedFinalizersError(Exception):
    """An update removed the last finalizer of an object that is being deleted: delete it instead of writing it."""

    def __init__(self, obj: Object, revision: int) -> None:
        super().__init__()
        self.obj = obj
        self.revision = revision


class UpdateCall:
    """Makes the new state of an object from the store's current one. `created` and `metadata` describe the last attempt."""

    __slots__ = ("_warned", "created", "ctx", "metadata", "name", "namespaced", "options", "resource", "strategy", "updater")

    def __init__(
        self,
        ctx: RequestContext,
        name: str,
        updater: Updater,
        options: UpdateOptions,
        *,
        resource: GroupResource,
        strategy: Strategy,
        namespaced: bool,
    ) -> None:
        self.ctx = ctx
        self.name = name
        self.updater = updater
        self.options = options
        self.resource = resource
        self.strategy = strategy
        self.namespaced = namespaced
        self.created = False
        self.metadata: Object = {}
        self._warned = len(ctx.warnings)

    @property
    def may_create(self) -> bool:
        """Report whether an absent object is created."""
        return self.strategy.allow_create_on_update or self.options.force_create

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
            if not self.may_create:
                raise errors.not_found(self.resource, self.name)
            obj = await self._create(own(await self.updater({})))
            self.metadata = obj["metadata"]
            return obj
        obj = own(await self.updater(existing))
        check_resource_version(
            obj["metadata"],
            revision,
            resource=self.resource,
            name=self.name,
            unconditional=self.strategy.allow_unconditional_update,
        )
        await background.run(before_update, self.ctx, obj, existing, self.strategy, namespaced=self.namespaced)
        if self.options.admit is not None:
            await self.options.admit(AdmissionOperation.UPDATE, obj, existing)
        self.metadata = obj["metadata"]
        if self._is_finished(obj, existing):
            raise EmptiedFinalizersError(obj, revision)
        return obj

    async def _create(self, obj: Object) -> Object:
        metadata = obj["metadata"]
        wipe_system_fields(metadata)
        fill_system_fields(metadata)
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = names.generate_name(metadata["generateName"])
        await background.run(before_create, self.ctx, obj, self.strategy, namespaced=self.namespaced)
        if self.options.admit is not None:
            await self.options.admit(AdmissionOperation.CREATE, obj, None)
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
    """Return the result of a dry run: with the client's selfLink and, if the item has none, the client's resourceVersion."""
    kept = {name: metadata[name] for name in ("resourceVersion", "selfLink") if metadata.get(name)}
    if item.revision:
        kept.pop("resourceVersion", None)
    if not kept:
        return item
    obj = item.object()
    obj["metadata"] |= kept
    return Item(key=item.key, revision=item.revision, data=json_codec.dumps(obj), labels=item.labels, fields=item.fields)


def without_key_prefix(error: InvalidObjectError, resource: GroupResource) -> InvalidObjectError:
    """Return the error with the key that dry runs of the reference report, without the prefix of all keys."""
    begin = f"/{resource.group}/{resource.resource}/" if resource.group else f"/{resource.resource}/"
    return InvalidObjectError(error.key[max(error.key.find(begin), 0) :], error.message)
