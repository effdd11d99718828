"""One update, as the store's retry loop calls it (apiserver pkg/registry/generic/registry/store.go, Update)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import background, errors, names
from apiext.registry.metadata import before_create, before_update, check_resource_version, fill_system_fields, own, wipe_system_fields
from apiext.registry.request_context import Operation

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext, UpdateOptions, Updater
    from apiext.registry.strategy import Strategy


class EmptiedFinalizersError(Exception):
    """The update took the last finalizer from an object that is being deleted: it is to be removed instead of written."""

    def __init__(self, obj: Object, revision: int) -> None:
        super().__init__()
        self.obj = obj
        self.revision = revision


class UpdateCall:
    """Makes the new state of one object from whatever state the store finds; `created` and `metadata` tell about the last attempt."""

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
        """Whether an absent object is created."""
        return self.strategy.allow_create_on_update or self.options.force_create

    async def __call__(self, existing: Object, revision: int) -> Object:
        """The object to write. Raises StatusError or EmptiedFinalizersError."""
        # Every attempt says anew what the one before had to say.
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
            await self.options.admit(Operation.UPDATE, obj, existing)
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
            await self.options.admit(Operation.CREATE, obj, None)
        return obj

    def _is_finished(self, obj: Object, existing: Object) -> bool:
        before = existing["metadata"]
        return (
            "deletionTimestamp" in before
            and not obj["metadata"].get("finalizers")
            and not before.get("deletionGracePeriodSeconds")
            and self.strategy.may_delete_during_update(obj, existing)
        )
