"""What happens to a write: its steps in their order, which all verbs share.

| step | what happens | code |
| --- | --- | --- |
| place | the steps run on the event loop, or in a worker process if they are heavy | `perform` |
| decode | the body becomes an object; a patch makes one of the stored object, in each attempt | `WriteSteps.decode`, `patch.py` |
| fields | metadata.managedFields gets the fields that the write changes | `resources/managedfields/field_manager.py` |
| mutating admission | plug-ins change the object | `WriteSteps.mutate` |
| strategy | the rules of the kind prepare the object, and restore what clients must not change | `resources/registry/metadata.py` |
| validation | the rules of the kind check the object | `resources/registry/metadata.py` |
| validating admission | plug-ins accept or refuse the object | `WriteSteps.validation` |
| encode | the codec makes the bytes of the storage version | `storage/writer.py` |
| store | the bytes are written, if the stored object has not changed meanwhile | `storage/writer.py` |

A create takes each step once. An update, a patch and an apply take the steps from fields to store in attempts: `guaranteed_update` of
`storage/writer.py` begins with the cached object, and after an error or a conflict tries again with the stored one. A deletion has
both phases of admission, and no other step before store. `resources/registry/rest.py` calls the steps from strategy on. An update that
is known to change nothing (`scopes/unchanging_writes.py`) takes none.

Mirrors apiserver pkg/endpoints/handlers (create.go, update.go, patch.go, delete.go, rest.go); EnsureObjectNamespaceMatchesRequestNamespace
of pkg/registry/rest/meta.go; admitted managers: fieldmanager/admission.go.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.metrics import ADMIT, VALIDATE
from apiext.api.admission.sources import RequestPlace
from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.api.endpoints.handlers.body import decode_body
from apiext.api.endpoints.parameters.operation_options import operation_options, pinned_options
from apiext.api.endpoints.request import AUTHORIZE, INFO, USER, WORKERS
from apiext.api.endpoints.serializers.negotiation import YAML
from apiext.base.meta import errors, limits
from apiext.base.meta.encoding import json_values
from apiext.base.meta.log import get_logger
from apiext.base.meta.objectmeta.raw_metadata import read_metadata
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.inline_work import InlineWork, restarted
from apiext.base.scheduling.side_thread import aside
from apiext.resources.managedfields import managers
from apiext.resources.registry.metadata import own, wipe_system_fields
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, UpdateOptions
from apiext.resources.registry.rest import uid_precondition

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from apiext.api.endpoints.scopes.scope import Execute, Scope
    from apiext.api.endpoints.scopes.write_call import WriteCall
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.registry.request_context import Admit, Updater
    from apiext.storage.interface import Item, Preconditions

_LOG: Final = get_logger(__name__)
_YAML_CODEC: Final = "apiext.base.meta.encoding.yaml_codec"
_INVALID: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; "
    "please fix your requests: "
)
T = TypeVar("T")


# --- place ----------------------------------------------------------------------------------------------------------


async def perform_own(workers: WorkerPool, scope: Scope, execute: Execute[T], call: WriteCall, *, heavy: bool = False) -> T:
    """Execute a write of the server itself, as `perform`, and log its warnings, which no client gets."""
    result = await perform(workers, scope, execute, call, heavy=heavy)
    for warning in call.warnings:
        _LOG.warning("write accepted with a warning", resource=str(scope.resource.group_resource), name=call.name, warning=warning)
    return result


async def perform(workers: WorkerPool, scope: Scope, execute: Execute[T], call: WriteCall, *, heavy: bool = False) -> T:
    """Execute a write on the event loop if its body and the stored object are small and it is not `heavy`, else in a worker process.

    A write whose patterns turn out to cost much starts again there. While the start of a process is late, medium ones stay on the loop.

    Raises:
        StatusError: the write failed.
    """
    remote = scope.remote
    if remote is None:
        return await execute(scope, call)
    limit, stretch = limits.MAX_INLINE_YAML_BYTES if call.media_type == YAML else limits.MAX_INLINE_BYTES, workers.inline_stretch
    if not heavy and len(call.data) <= limit * stretch:
        if call.media_type == YAML and _YAML_CODEC not in sys.modules:
            # 1 MiB and 10 ms, which most servers never need
            await aside(lambda: importlib.import_module(_YAML_CODEC))
        known, work = len(call.warnings), InlineWork(stretch=stretch)
        with work:
            return await execute(scope, call)
        # it was too heavy, and has stopped before the store
        del call.warnings[known:]
        if call.record is not None:
            call.record.forget()
        with restarted(work):
            return await remote.run(workers, execute, call)
    return await remote.run(workers, execute, call)


async def _perform_unless_unchanging(
    workers: WorkerPool, scope: Scope, execute: Execute[tuple[Item, bool]], call: WriteCall, *, heavy: bool
) -> tuple[Item, bool]:
    """Execute an update as `perform`, unless it is known to change nothing."""
    memory, place = scope.unchanging, _place(scope, AdmissionOperation.UPDATE)
    is_shown = call.record is not None and call.record.with_body
    if memory is None or is_shown or _is_seen(scope, place):
        return await perform(workers, scope, execute, call, heavy=heavy)
    known = await memory.outcome(call)
    if known is not None:
        for phase in (ADMIT, VALIDATE):
            scope.admission.admits_unseen(phase, place)
        return known, False
    before, warned = memory.cached(call), len(call.warnings)
    item, created = await perform(workers, scope, execute, call, heavy=heavy)
    is_unchanged = before is not None and before.revision == item.revision and len(call.warnings) == warned
    if is_unchanged and not _is_seen(scope, place):
        memory.note(call, item.revision)
    return item, created


def _place(scope: Scope, operation: AdmissionOperation) -> RequestPlace:
    return RequestPlace(scope.resource.group, scope.resource.resource, scope.subresource, operation)


def _is_seen(scope: Scope, place: RequestPlace) -> bool:
    """Return whether admission sees a write."""
    return scope.admission.sees(ADMIT, place) or scope.admission.sees(VALIDATE, place)


async def perform_or_create(
    request: web.BaseRequest, scope: Scope, execute: Execute[tuple[Item, bool]], call: WriteCall, *, creates: bool, heavy: bool = False
) -> tuple[Item, bool]:
    """Execute an update as `perform`. If its object does not exist and it `creates` one, authorize that and execute it again.

    Raises:
        StatusError: the write failed, or the user may not create the object.
    """
    warned = len(call.warnings)
    try:
        return await _perform_unless_unchanging(request[WORKERS], scope, execute, call, heavy=heavy)
    except errors.StatusError as error:
        if error.code != 404 or not creates:
            raise
    await _authorize_create(request, scope)
    # the second attempt repeats its warnings
    del call.warnings[warned:]
    call.creates = True
    return await perform(request[WORKERS], scope, execute, call)


async def _authorize_create(request: web.BaseRequest, scope: Scope) -> None:
    """Check that the user may create the object. Raises StatusError: 403 if the user may not, 500 if the authorizer fails."""
    info = replace(request[INFO], verb="create")
    try:
        verdict = await request[AUTHORIZE](request[USER], info)
    except ReviewError as error:
        raise errors.internal(str(error)) from error
    if verdict.decision is not Decision.ALLOW:
        raise errors.forbidden(scope.resource.group_resource, info.name, verdict.reason)


# --- verbs; those of a patch and an apply are in patch.py ------------------------------------------------------------


async def create_stored(scope: Scope, call: WriteCall) -> Item:
    """Create the object of a call and return it. The caller authorizes.

    Raises:
        StatusError: the object is invalid, rejected, or exists.
    """
    steps = WriteSteps(scope, call)
    obj = steps.decode()
    if not scope.dialect.keeps_metadata:
        wipe_system_fields(obj["metadata"])
    await scope.fields.update({}, obj, call.manager)
    # of a subresource, such as the token of a ServiceAccount, the path has the name
    steps.name = call.name or str(obj["metadata"].get("name", ""))
    obj = await steps.mutate(obj, None)
    # strategy, validation, validating admission, encode, store
    options = CreateOptions(dry_run=call.query.dry_run, admit=steps.validation(AdmissionOperation.CREATE))
    return await scope.rest.create(call.context, obj, options)


async def update_stored(scope: Scope, call: WriteCall) -> tuple[Item, bool]:
    """Replace an object, or create a missing one if the call `creates` it. Return it, and whether it was created. The caller authorizes.

    Raises:
        StatusError: the object is invalid, rejected, or in conflict with the stored one.
    """
    steps = WriteSteps(scope, call)
    obj = steps.decode(call.name)

    async def replaced(existing: Object) -> Object:
        # a copy: admission may change it, and there may be another attempt
        new = own(obj)
        json_values.share(new, existing)
        await scope.fields.update(existing, new, call.manager)
        return new

    return await steps.update(replaced, preconditions=uid_precondition(obj))


async def delete_stored(scope: Scope, call: WriteCall) -> tuple[Item, bool, str]:
    """Delete an object, or mark it for deletion. Return its last state, whether it was removed, and its uid. The caller authorizes.

    Raises:
        StatusError: the deletion is rejected, or in conflict with the stored object.
    """
    item, removed = await scope.rest.delete(call.context, call.name, WriteSteps(scope, call).deletion())
    return item, removed, str(read_metadata(item.data).get("uid", ""))


# --- steps ----------------------------------------------------------------------------------------------------------


class WriteSteps:
    """The steps of one write that the registry does not have, and the options with which it calls the others."""

    __slots__ = ("_call", "_scope", "name")

    def __init__(self, scope: Scope, call: WriteCall) -> None:
        self._scope = scope
        self._call = call
        self.name = call.name
        """The name in the path, otherwise that of the created object; empty for a deletecollection and before the server generates one."""

    def decode(self, name: str = "") -> Object:
        """Return the object in the body of a create or an update. It must have the name, unless that is empty.

        Raises:
            StatusError: 400 if it cannot be decoded, or has another name or namespace.
        """
        call = self._call
        obj = decode_body(self._scope, call.data, call.media_type, call.query.field_validation, call.warnings)
        if not name:
            # the server sets fields of a new object
            obj = own(obj)
        if call.record is not None:
            call.record.take_object(obj)
        self.match(obj, name)
        dedup_owner_references(obj, call.warnings)
        return obj

    def match(self, obj: Object, name: str) -> None:
        """Set the namespace of the request in an object, and check its name unless `name` is empty.

        Raises:
            StatusError: 400 if it has another name or namespace.
        """
        _match_namespace(obj, "" if self._scope.is_namespaces else self._call.namespace)
        if name:
            _check_name(obj, name)

    def update(
        self, change: Updater, *, preconditions: Preconditions | None = None, keep_managers: bool = False
    ) -> Awaitable[tuple[Item, bool]]:
        """Return a call of the registry that attempts an update until it is stored. `change` decodes, and records the fields."""
        scope, call = self._scope, self._call

        async def attempt(existing: Object) -> Object:
            # again, if another write comes between; then strategy, validation, validating admission, encode, store
            exists = bool((existing.get("metadata") or {}).get("uid"))
            return await self.mutate(await change(existing), existing if exists else None)

        options = UpdateOptions(
            dry_run=call.query.dry_run,
            preconditions=preconditions,
            admit=self.validation(AdmissionOperation.UPDATE),
            create=call.creates,
            keep_managers=keep_managers,
        )
        return scope.rest.update(call.context, call.name, attempt, options)

    async def mutate(self, new: Object, old: Object | None) -> Object:
        """Run mutating admission and return the new object, with valid managedFields. `old` is None for a create.

        Raises:
            StatusError: admission rejected the request or failed.
        """
        admission, warnings = self._scope.admission, self._call.warnings
        place = self._place(AdmissionOperation.CREATE if old is None else AdmissionOperation.UPDATE)
        if not admission.admits_unseen(ADMIT, place):
            attributes, before = self._attributes(place, new, old), _managers(new)
            await admission.admit(attributes)
            new = attributes.new if attributes.new is not None else new
            if _managers(new) is not before:
                _keep_valid_managers(new, before, warnings)
        dedup_owner_references(new, warnings, after_admission=True)
        return new

    def validation(self, operation: AdmissionOperation) -> Admit | None:
        """Return validating admission, None if no plug-in handles the operation (or the creation that an update may become)."""
        admission = self._scope.admission
        handled = admission.handles(operation) or (operation is AdmissionOperation.UPDATE and admission.handles(AdmissionOperation.CREATE))
        return self._validate if handled else None

    def deletion(self) -> DeleteOptions:
        """Return the options of a deletion for the registry, which runs both phases of admission."""
        query, admission = self._call.query, self._scope.admission
        dynamic = admission.dynamic
        return DeleteOptions(
            # webhooks and policies may need more of the object than its metadata
            whole=dynamic is not None and dynamic.may_apply(self._place(AdmissionOperation.DELETE)),
            preconditions=query.preconditions,
            orphan_dependents=query.orphan_dependents,
            propagation_policy=query.propagation_policy,
            dry_run=bool(query.dry_run),
            admit=self._admit_deletion if admission.handles(AdmissionOperation.DELETE) else None,
        )

    async def _validate(self, operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        admission, place = self._scope.admission, self._place(operation)
        if admission.admits_unseen(VALIDATE, place):
            return
        attributes = self._attributes(place, new, old)
        if new is not None and not attributes.name:
            # the name has been generated meanwhile
            attributes.name = str((new.get("metadata") or {}).get("name", ""))
        await admission.validate(attributes)

    async def _admit_deletion(self, operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        admission, place = self._scope.admission, self._place(operation)
        unseen = [admission.admits_unseen(phase, place) for phase in (ADMIT, VALIDATE)]
        if all(unseen):
            return
        attributes = self._attributes(place, new, old)
        if self._scope.dialect.pins_deleted and old is not None:
            attributes.options = partial(pinned_options, self._call.query, old["metadata"].get("uid", ""))
        if not unseen[0]:
            await admission.admit(attributes)
        if not unseen[1]:
            await admission.validate(attributes)

    def _place(self, operation: AdmissionOperation) -> RequestPlace:
        return _place(self._scope, operation)

    def _attributes(self, place: RequestPlace, new: Object | None, old: Object | None) -> Attributes:
        scope, call = self._scope, self._call
        namespace, record = call.namespace, call.record
        more: dict[str, Any] = {}
        if record is not None:
            more = {"annotations": record.annotations, "latencies": record.latencies, "shows_patches": record.with_body}
        return Attributes(
            operation=place.operation,
            kind=scope.kind,
            resource=scope.resource,
            user=call.user,
            subresource=scope.subresource,
            namespace=self.name if not namespace and scope.is_namespaces else namespace,
            name=self.name,
            new=new,
            old=old,
            dry_run=bool(call.query.dry_run),
            options=partial(operation_options, place.operation, call.query),
            objects=scope.objects,
            warnings=call.warnings,
            deadline=call.deadline,
            place=place,
            **more,
        )


def _match_namespace(obj: Object, expected: str) -> None:
    """Set the namespace of the request in an object. Raises StatusError: 400 if the object has another namespace."""
    metadata = obj.get("metadata")
    named = metadata.get("namespace", "") if isinstance(metadata, dict) else ""
    if named == expected:
        return
    if not named:
        obj["metadata"] = {**(metadata or {}), "namespace": expected}
    elif not expected:
        obj["metadata"] = {key: member for key, member in (metadata or {}).items() if key != "namespace"}
    else:
        raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _check_name(obj: Object, name: str) -> None:
    """Check that an object has the name in the path. Raises StatusError: 400 if it has another name or none."""
    named = (obj.get("metadata") or {}).get("name", "")
    if not named:
        raise errors.bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if named != name:
        raise errors.bad_request(f"the name of the object ({named}) does not match the name on the URL ({name})")


def dedup_owner_references(obj: Object, warnings: list[str], *, after_admission: bool = False) -> None:
    """Drop duplicate owner references and add a warning. Replace the metadata instead of changing it."""
    metadata = obj.get("metadata") or {}
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: list[Any] = []
    dropped: list[str] = []
    seen: set[frozenset[tuple[str, str]]] = set()
    for reference in references:
        # the members are strings and booleans at this point
        known = frozenset((name, repr(member)) for name, member in reference.items())
        if known in seen:
            dropped.append(str(reference.get("uid", "")))
        else:
            seen.add(known)
            kept.append(reference)
    if not dropped:
        return
    when = " after mutating admission happens" if after_admission else ""
    warnings.append(
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject "
        f"such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {', '.join(dropped)}"
    )
    obj["metadata"] = {**metadata, "ownerReferences": kept}


def _managers(obj: Object) -> Any:
    """Return metadata.managedFields, None if there are none."""
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def _keep_valid_managers(obj: Object, before: Any, warnings: list[str]) -> None:
    """Give an admitted object the managedFields from before admission, and warn, if those that plug-ins have set are invalid.

    The object gets a new metadata; nothing else changes.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        # the reference reads no entries from other values, which are dropped when the object is written
        return
    try:
        managers.decode(entries)
    except ValueError as error:
        warnings.append(f"{_INVALID}{error}")
        kept = {name: member for name, member in metadata.items() if name != "managedFields"}
        obj["metadata"] = kept if before is None else {**kept, "managedFields": before}
