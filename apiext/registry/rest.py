"""REST over a store: the same for every resource; a strategy tells what is special (apiserver pkg/registry/generic/registry/store.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import background, errors, go_format, json_codec, names
from apiext.registry.delete_collection import delete_all
from apiext.registry.deletion import check_options, check_preconditions, finalizers_for, mark_as_deleting
from apiext.registry.dry_run import as_sent, unprefixed
from apiext.registry.errors import StorageFailure, interpret
from apiext.registry.metadata import before_create, fill_system_fields, names_revision, own
from apiext.registry.request_context import Operation
from apiext.registry.update import EmptiedFinalizersError, UpdateCall
from apiext.storage.interface import InvalidObjectError, Item, KeyExistsError, KeyNotFoundError, ListResult, Preconditions

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource, GroupVersionKind
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions, Updater
    from apiext.registry.strategy import Strategy
    from apiext.storage.interface import Codec, ListOptions, Selection, Store, Watch, WatchOptions

_NAME_ATTEMPTS: Final = 8
"""How often a generated name is tried anew: enough for a million names below one prefix."""


Finalizers = list[str]


class _HasFinalizersError(Exception):
    """The object cannot go yet."""


class _HasNoFinalizersError(Exception):
    """The object can go at once."""


class ResourceRest:
    """The verbs of one resource in one version. Every method raises StatusError, and nothing else that a client could cause."""

    __slots__ = ("codec", "kind", "namespaced", "resource", "store", "strategy")

    def __init__(
        self,
        *,
        store: Store,
        codec: Codec,
        strategy: Strategy,
        resource: GroupResource,
        kind: GroupVersionKind,
        namespaced: bool,
    ) -> None:
        self.store = store
        self.codec = codec
        self.strategy = strategy
        self.resource = resource
        self.kind = kind
        self.namespaced = namespaced

    # --- reading ------------------------------------------------------------------------------------------------------

    async def get(self, ctx: RequestContext, name: str, *, resource_version: str = "") -> Item:
        """One object."""
        key = self.key(ctx.namespace, name)
        try:
            return await self.store.get(key, self.codec, resource_version=resource_version)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="get", name=name) from error

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """The objects of the request's namespace, or of all."""
        prefix = self._prefix(ctx.namespace, options.selection)
        try:
            return await self.store.list(prefix, self.codec, options)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="list") from error

    async def watch(self, ctx: RequestContext, options: WatchOptions, *, name: str = "") -> Watch:
        """Changes in the request's namespace, or in all; of one object if named."""
        prefix = self.key(ctx.namespace, name) if name else self._prefix(ctx.namespace, options.selection)
        try:
            return await self.store.watch(prefix, self.codec, options)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="watch") from error

    def key(self, namespace: str, name: str) -> str:
        """The key of an object below the resource's. Raises StatusError when there can be none."""
        if self.namespaced and not namespace:
            raise errors.bad_request("Namespace parameter required.")
        if not name:
            raise errors.bad_request("Name parameter required.")
        problems = names.path_segment(name)
        if problems:
            raise errors.bad_request(f"Name parameter invalid: {go_format.quote(name)}: {';'.join(problems)}")
        return f"{namespace}/{name}" if self.namespaced else name

    def _prefix(self, namespace: str, selection: Selection) -> str:
        """The keys that a list or watch may be about: of everything, of a namespace, or of one object that the selector names."""
        fields = selection.fields
        if fields is None:
            return f"{namespace}/" if namespace and self.namespaced else ""
        if self.namespaced and not namespace:
            wanted = fields.requires_exact("metadata.namespace")
            namespace = wanted if wanted and not names.name_is_dns_label(wanted) else ""
        name = fields.requires_exact("metadata.name")
        if name and not names.path_segment(name) and (namespace or not self.namespaced):
            return self.key(namespace, name)
        return f"{namespace}/" if namespace and self.namespaced else ""

    # --- creating -----------------------------------------------------------------------------------------------------

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Store a new object (decoded, mutated by admission); it is the registry's from now on."""
        metadata = obj.get("metadata") or {}
        if not metadata.get("generateName") or metadata.get("name"):
            return await self._create(ctx, own(obj), options)
        warned = len(ctx.warnings)
        for attempt in range(_NAME_ATTEMPTS):
            try:
                return await self._create(ctx, own(obj), options)
            except errors.StatusError as error:
                if error.reason != "AlreadyExists" or attempt == _NAME_ATTEMPTS - 1:
                    raise
            del ctx.warnings[warned:]
        raise AssertionError

    async def _create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        metadata = obj["metadata"]
        fill_system_fields(metadata)
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = names.generate_name(metadata["generateName"])
        await background.run(before_create, ctx, obj, self.strategy, namespaced=self.namespaced)
        if options.admit is not None:
            await options.admit(Operation.CREATE, obj, None)
        key = self.key(metadata.get("namespace", ""), metadata["name"])
        if not options.dry_run and names_revision(metadata):
            raise errors.unknown("resourceVersion should not be set on objects to be created")
        try:
            item = await self.store.create(key, obj, self.codec, dry_run=options.dry_run)
            return as_sent(item, metadata) if options.dry_run else item
        except KeyExistsError as error:
            raise await self._exists_already(key, obj) from error
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="create", name=metadata["name"]) from error

    async def _exists_already(self, key: str, obj: Object) -> errors.StatusError:
        """Why an object cannot be created: another has its name, and may be on its way out."""
        metadata = obj["metadata"]
        conflict = errors.already_exists(self.resource, metadata["name"])
        if metadata.get("generateName"):
            conflict = errors.generate_name_conflict(self.resource, metadata["name"], 1)
        try:
            item = await self.store.get(key, self.codec)
        except (*StorageFailure, errors.StatusError):
            return conflict
        if "deletionTimestamp" in item.object().get("metadata", {}):
            message = f"object is being deleted: {conflict.message}"
            return errors.StatusError(conflict.code, conflict.reason, message, conflict.details)
        return conflict

    # --- updating -----------------------------------------------------------------------------------------------------

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Change an object; the result, and whether it was created."""
        key = self.key(ctx.namespace, name)
        call = UpdateCall(
            ctx,
            name,
            updater,
            options,
            resource=self.resource,
            strategy=self.strategy,
            namespaced=self.namespaced,
        )
        while True:
            try:
                item, _ = await self.store.guaranteed_update(
                    key,
                    self.codec,
                    call,
                    preconditions=options.preconditions,
                    ignore_not_found=call.may_create,
                    dry_run=options.dry_run,
                )
            except EmptiedFinalizersError as emptied:
                try:
                    return await self._finish_deletion(key, name, emptied, options), False
                except InvalidObjectError:
                    # It is not the object any more that the update was made from: as after any lost race, once more.
                    continue
            except StorageFailure as failure:
                error = failure
                if options.dry_run and isinstance(failure, InvalidObjectError):
                    error = unprefixed(failure, self.resource)
                operation = "create" if call.created else "update"
                raise interpret(error, resource=self.resource, operation=operation, name=name) from error
            return as_sent(item, call.metadata) if options.dry_run else item, call.created

    async def _finish_deletion(self, key: str, name: str, emptied: EmptiedFinalizersError, options: UpdateOptions) -> Item:
        """Remove an object that was waiting for its last finalizer; clients of the update get the object that they sent.

        Raises InvalidObjectError when it has changed since.
        """
        obj = emptied.obj
        metadata = obj["metadata"]
        unchanged = Preconditions(uid=metadata.get("uid"), resource_version=str(emptied.revision))
        try:
            await self.store.delete(key, self.codec, preconditions=unchanged, dry_run=options.dry_run)
        except KeyNotFoundError:
            # Two updates may have taken the last finalizer at once.
            pass
        except InvalidObjectError:
            raise
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="delete", name=name) from error
        return Item(
            key=key,
            revision=emptied.revision,
            data=json_codec.dumps(obj),
            labels=metadata.get("labels", {}),
            fields=self.codec.fields(obj),
        )

    # --- deleting -----------------------------------------------------------------------------------------------------

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object, or mark it for deletion; its last state, and whether it is gone."""
        check_options(options)
        key = self.key(ctx.namespace, name)
        try:
            while True:
                try:
                    return await self._delete_now(key, options), True
                except _HasFinalizersError:
                    pass
                try:
                    return await self._delete_later(key, options), False
                except _HasNoFinalizersError:
                    pass
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="delete", name=name) from error

    async def _delete_now(self, key: str, options: DeleteOptions) -> Item:
        async def check(existing: Object) -> None:
            check_preconditions(existing, options)
            if self._finalizers(existing, options):
                raise _HasFinalizersError
            if options.admit is not None:
                await options.admit(Operation.DELETE, None, existing)

        return await self.store.delete(key, self.codec, validate=check, dry_run=options.dry_run)

    async def _delete_later(self, key: str, options: DeleteOptions) -> Item:
        async def mark(existing: Object, _revision: int) -> Object:
            check_preconditions(existing, options)
            finalizers = self._finalizers(existing, options)
            if not finalizers:
                raise _HasNoFinalizersError
            if options.admit is not None:
                await options.admit(Operation.DELETE, None, existing)
            obj = own(existing)
            mark_as_deleting(obj["metadata"], finalizers)
            return obj

        item, _ = await self.store.guaranteed_update(key, self.codec, mark, dry_run=options.dry_run)
        return item

    def _finalizers(self, existing: Object, options: DeleteOptions) -> Finalizers:
        metadata = existing["metadata"]
        return finalizers_for(metadata, options, garbage_collected=self.strategy.garbage_collected)

    async def delete_unreadable(self, ctx: RequestContext, name: str, *, dry_run: bool) -> None:
        """Remove an object that cannot be read, whatever keeps it; one that can be is left alone (409)."""
        key = self.key(ctx.namespace, name)
        try:
            await self.store.delete_unreadable(key, self.codec, dry_run=dry_run)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="delete", name=name) from error

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Delete all that a list gives; that list. What fails ends it, and what has been deleted by then stays so."""
        check_options(options)
        return await delete_all(self, ctx, options, list_options)


def uid_precondition(obj: Object) -> Preconditions | None:
    """What a PUT asks of the object that it replaces: the uid, if the body names one."""
    metadata = obj.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return Preconditions(uid=uid) if uid else None
