"""REST over a store, the same for every resource except for its strategy (apiserver pkg/registry/generic/registry/store.go).

The steps of a write from strategy on: `api/endpoints/handlers/write.py` has all of them.
"""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta import errors, names
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.gradual_list import GradualList
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.time_slice import Pace
from apiext.resources.registry.deletion import check_options, check_preconditions, finalizers_for, mark_as_deleting
from apiext.resources.registry.errors import StorageFailure, interpret, relative_key
from apiext.resources.registry.metadata import (
    before_bounded_update,
    before_create,
    check_resource_version,
    given_resource_version,
    names_revision,
    own,
    wipe_system_fields,
)
from apiext.storage.errors import InvalidObjectError, KeyExistsError, KeyNotFoundError
from apiext.storage.interface import Item, ListResult, Preconditions, VersionMatch, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions, Updater
    from apiext.resources.registry.strategy import Strategy
    from apiext.storage.interface import Codec, ListOptions, Selection, Store, Watch, WatchOptions

_NAME_ATTEMPTS: Final = 8
"""Attempts to generate a free name: enough for a million names with one prefix."""

_PAGE_KEYS: Final = 10_000  # objects
_WORKERS: Final = 16
"""Concurrent deletions: enough to share the backend's commits. Webhooks and policies see one after the other, as in the reference."""


class Collection(Protocol):
    """Lists and deletes the objects of a resource. Its methods raise StatusError."""

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """Return a page of objects."""
        ...

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object or mark it for deletion."""
        ...


async def delete_all(rest: Collection, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
    """Delete the objects of a list: one page if it has a limit, otherwise all. Return the list.

    Raises:
        StatusError: the first failure of a deletion.
    """
    if list_options.limit > 0:
        page = await rest.list(ctx, list_options)
        await _delete_page(rest, ctx, options, page.items)
        return page
    wanted = dataclasses.replace(list_options, limit=_PAGE_KEYS)
    first: ListResult | None = None
    items: GradualList[Item] = GradualList()
    while True:
        page = await rest.list(ctx, wanted)
        await _delete_page(rest, ctx, options, page.items)
        items += page.items
        first = first or page
        if not page.continue_token:
            return ListResult(items=items, revision=first.revision)
        wanted = dataclasses.replace(wanted, continue_token=page.continue_token, resource_version="", match=VersionMatch.UNSET)


async def _delete_page(rest: Collection, ctx: RequestContext, options: DeleteOptions, items: Sequence[Item]) -> None:
    queue = iter(items)
    # A dry run on an embedded store never waits. Urgent: only the workers of this page share the slices.
    pace = Pace(urgent=True)

    async def work() -> None:
        for item in queue:
            await pace.checkpoint()
            namespace = item.fields.get("metadata.namespace", "")
            target = ctx if namespace == ctx.namespace else dataclasses.replace(ctx, namespace=namespace)
            try:
                await rest.delete(target, item.fields["metadata.name"], options)
            except errors.StatusError as error:
                if error.code != 404:
                    raise

    workers = [asyncio.ensure_future(work()) for _ in range(min(1 if options.whole else _WORKERS, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        await end_tasks(*workers)


class _FinalizersError(Exception):
    """The object has finalizers: a deletion changes it first."""


class _DeleteNowError(Exception):
    """A deletion leaves the object no finalizers, so that it can be deleted at once."""


class _EmptiedFinalizersError(Exception):
    """An update removed the last finalizer of an object that is being deleted: delete it instead of writing it."""

    def __init__(self, obj: Object, revision: int) -> None:
        super().__init__()
        self.obj = obj
        self.revision = revision


@dataclass(slots=True, kw_only=True, eq=False)
class ResourceRest:
    """The verbs of one resource in one version.

    Raises:
        StatusError: from every method, for every failure that a client can cause.
    """

    store: Store
    codec: Codec
    strategy: Strategy
    resource: GroupResource
    namespaced: bool

    async def get(self, ctx: RequestContext, name: str, *, resource_version: str = "") -> Item:
        """Return one object."""
        key = self.key(ctx.namespace, name)
        try:
            return await self.store.get(key, self.codec, resource_version=resource_version)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="get", name=name) from error

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """Return the objects of the request's namespace, or of all namespaces."""
        prefix = self._prefix(ctx.namespace, options.selection)
        try:
            return await self.store.list(prefix, self.codec, options)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="list") from error

    async def watch(self, ctx: RequestContext, options: WatchOptions) -> Watch:
        """Watch the request's namespace, or all namespaces."""
        prefix = self._prefix(ctx.namespace, options.selection)
        try:
            return await self.store.watch(prefix, self.codec, options)
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="watch") from error

    def key(self, namespace: str, name: str) -> str:
        """Return the store key of an object.

        Raises:
            StatusError: 400 for a missing or invalid name or namespace.
        """
        if self.namespaced and not namespace:
            raise errors.bad_request("Namespace parameter required.")
        if not name:
            raise errors.bad_request("Name parameter required.")
        problems = names.path_segment(name)
        if problems:
            raise errors.bad_request(f"Name parameter invalid: {formatting.quote(name)}: {';'.join(problems)}")
        return f"{namespace}/{name}" if self.namespaced else name

    def _prefix(self, namespace: str, selection: Selection) -> str:
        """Return the key prefix of a list or watch, or the key of the only object that its selector allows."""
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

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Create an object after decoding and mutating admission. The registry may change it."""
        metadata = obj.get("metadata") or {}
        attempts = _NAME_ATTEMPTS if metadata.get("generateName") and not metadata.get("name") else 1
        warned = len(ctx.warnings)
        while True:
            attempts -= 1
            try:
                return await self._create(ctx, own(obj), options)
            except errors.StatusError as error:
                if error.reason != "AlreadyExists" or not attempts:
                    raise
            del ctx.warnings[warned:]

    async def _create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        metadata = obj["metadata"]
        # strategy, validation
        await before_create(ctx, obj, self.strategy, namespaced=self.namespaced)
        # validating admission
        if options.admit is not None:
            await options.admit(AdmissionOperation.CREATE, obj, None)
        key = self.key(metadata.get("namespace", ""), metadata["name"])
        if not options.dry_run and names_revision(metadata):
            raise errors.unknown("resourceVersion should not be set on objects to be created")
        try:
            # encode, store
            item = await self.store.create(key, obj, self.codec, WriteOptions(dry_run=options.dry_run))
            return _with_sent_metadata(item, metadata) if options.dry_run else item
        except KeyExistsError as error:
            raise await self._already_exists(key, obj) from error
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="create", name=metadata["name"]) from error

    async def _already_exists(self, key: str, obj: Object) -> errors.StatusError:
        """Return the error about an existing object of the same name. The error says whether its deletion has begun."""
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

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Update an object; return the result, and whether it was created."""
        key = self.key(ctx.namespace, name)
        call = _UpdateCall(self, ctx, name, updater, options)
        write = WriteOptions(
            preconditions=options.preconditions,
            ignore_not_found=options.create,
            dry_run=options.dry_run,
            keep_managers=options.keep_managers,
        )
        while True:
            try:
                item, _ = await self.store.guaranteed_update(key, self.codec, call, write)
            except _EmptiedFinalizersError as emptied:
                try:
                    return await self._finish_deletion(key, name, emptied, options), False
                except InvalidObjectError:
                    # The object has changed meanwhile: retry, as after any conflict.
                    continue
            except StorageFailure as error:
                if options.dry_run and isinstance(error, InvalidObjectError):
                    error.key = relative_key(error.key, self.resource)
                operation = "create" if call.created else "update"
                raise interpret(error, resource=self.resource, operation=operation, name=name) from error
            return _with_sent_metadata(item, call.metadata) if options.dry_run else item, call.created

    async def _finish_deletion(self, key: str, name: str, emptied: _EmptiedFinalizersError, options: UpdateOptions) -> Item:
        """Delete an object after an update has removed its last finalizer. Return the object of the update.

        Raises:
            InvalidObjectError: the object has changed since then.
        """
        obj = emptied.obj
        metadata = obj["metadata"]
        unchanged = Preconditions(uid=metadata.get("uid"), resource_version=str(emptied.revision))
        try:
            await self.store.delete(key, self.codec, WriteOptions(preconditions=unchanged, dry_run=options.dry_run))
        except KeyNotFoundError:
            # Two updates may have removed the last finalizer at once.
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

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object or mark it for deletion. Return its last state, and whether it is deleted."""
        check_options(options)
        key = self.key(ctx.namespace, name)
        try:
            while True:
                with suppress(_FinalizersError):
                    return await self._delete_at_once(key, options), True
                with suppress(_DeleteNowError):
                    return await self._mark_for_deletion(key, options), False
                with suppress(_FinalizersError):
                    return await self._delete_at_once(key, options, emptied=True), True
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="delete", name=name) from error

    async def _delete_at_once(self, key: str, options: DeleteOptions, *, emptied: bool = False) -> Item:
        """Delete an object without finalizers; with `emptied`, also one whose finalizers the deletion removes."""

        async def check(existing: Object) -> None:
            check_preconditions(existing, options)
            metadata = existing["metadata"]
            finalizers = finalizers_for(metadata, options, garbage_collected=self.strategy.garbage_collected)
            if finalizers or (metadata.get("finalizers") and not emptied):
                raise _FinalizersError
            # the reference ends a dry run before the second admission
            if options.admit is not None and not (emptied and options.dry_run):
                await options.admit(AdmissionOperation.DELETE, None, existing)

        write = WriteOptions(validate=check, whole=options.whole, dry_run=options.dry_run)
        return await self.store.delete(key, self.codec, write)

    async def _mark_for_deletion(self, key: str, options: DeleteOptions) -> Item:
        async def mark(existing: Object, _revision: int) -> Object:
            check_preconditions(existing, options)
            if options.admit is not None:
                await options.admit(AdmissionOperation.DELETE, None, existing)
            finalizers = finalizers_for(existing["metadata"], options, garbage_collected=self.strategy.garbage_collected)
            if not finalizers:
                # as in the reference, the deletion that follows is admitted again
                raise _DeleteNowError
            obj = own(existing)
            mark_as_deleting(obj["metadata"], finalizers)
            return obj

        item, _ = await self.store.guaranteed_update(key, self.codec, mark, WriteOptions(dry_run=options.dry_run))
        return item

    async def delete_unreadable(self, ctx: RequestContext, name: str, *, dry_run: bool) -> None:
        """Delete an undecodable object, regardless of finalizers.

        Raises:
            StatusError: 409 if the object can be decoded.
        """
        key = self.key(ctx.namespace, name)
        try:
            await self.store.delete_unreadable(key, self.codec, WriteOptions(dry_run=dry_run))
        except StorageFailure as error:
            raise interpret(error, resource=self.resource, operation="delete", name=name) from error

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Delete all objects of a list and return them. Stop at the first failure; earlier deletions stay."""
        check_options(options)
        return await delete_all(self, ctx, options, list_options)


class _UpdateCall:
    """Makes the new state of an object from the store's current one. `created` and `metadata` describe the last attempt."""

    __slots__ = ("_ctx", "_name", "_options", "_rest", "_updater", "_warned", "created", "metadata")

    def __init__(self, rest: ResourceRest, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> None:
        self._rest = rest
        self._ctx = ctx
        self._name = name
        self._updater = updater
        self._options = options
        self._warned = len(ctx.warnings)
        self.created = False
        self.metadata: Object = {}

    async def __call__(self, existing: Object, revision: int) -> Object:
        """Return the object to write.

        Raises:
            StatusError: the update is invalid or refused.
            _EmptiedFinalizersError: the object is to be deleted.
        """
        ctx, rest, admit = self._ctx, self._rest, self._options.admit
        # each attempt repeats the warnings
        del ctx.warnings[self._warned :]
        self.created = not revision
        if self.created and not self._options.create:
            raise errors.not_found(rest.resource, self._name)
        # decode, fields, mutating admission
        obj = own(await self._updater(existing))
        self.metadata = metadata = obj["metadata"]
        if self.created:
            given_resource_version(metadata)
            wipe_system_fields(metadata)
            await before_create(ctx, obj, rest.strategy, namespaced=rest.namespaced)
            if admit is not None:
                await admit(AdmissionOperation.CREATE, obj, None)
            return obj
        check_resource_version(
            metadata, revision, resource=rest.resource, name=self._name, unconditional=rest.strategy.allow_unconditional_update
        )
        # strategy, validation
        await before_bounded_update(ctx, obj, existing, rest.strategy, namespaced=rest.namespaced)
        # validating admission
        if admit is not None:
            await admit(AdmissionOperation.UPDATE, obj, existing)
        # the strategy may have replaced it
        self.metadata = obj["metadata"]
        if self._is_finished(obj, existing):
            raise _EmptiedFinalizersError(obj, revision)
        return obj

    def _is_finished(self, obj: Object, existing: Object) -> bool:
        before = existing["metadata"]
        return (
            "deletionTimestamp" in before
            and not obj["metadata"].get("finalizers")
            and not before.get("deletionGracePeriodSeconds")
            and self._rest.strategy.may_delete_during_update(obj, existing)
        )


def _with_sent_metadata(item: Item, metadata: Object) -> Item:
    """Return a dry run's result with the client's selfLink. Without a revision it also keeps the client's resourceVersion."""
    kept = {name: metadata[name] for name in ("resourceVersion", "selfLink") if metadata.get(name)}
    if item.revision:
        kept.pop("resourceVersion", None)
    if not kept:
        return item
    obj = item.object()
    obj["metadata"] |= kept
    return Item(key=item.key, revision=item.revision, data=json_codec.dumps(obj), labels=item.labels, fields=item.fields)


def uid_precondition(obj: Object) -> Preconditions | None:
    """Return the precondition of a PUT: the uid in its body, if there is one."""
    metadata = obj.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return Preconditions(uid=uid) if uid else None
