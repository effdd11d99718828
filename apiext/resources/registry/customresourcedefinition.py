"""CustomResourceDefinitions: strategies, and deletion after the instances are deleted.

Mirrors apiextensions-apiserver pkg/registry/customresourcedefinition (strategy.go, etcd.go).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.base.meta import time
from apiext.base.meta.encoding import json_values
from apiext.base.meta.host_annotations import HOST_REVISION, HOST_UID, PHASE
from apiext.base.meta.limits import MAX_INLINE_BYTES
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.inline_work import current_work
from apiext.resources.definitions import conditions, unused_versions
from apiext.resources.definitions.codec import RESOURCE, compact
from apiext.resources.definitions.conditions import CLEANUP_FINALIZER, TERMINATING, Condition
from apiext.resources.registry.deletion import check_stored
from apiext.resources.registry.errors import StorageFailure, interpret
from apiext.resources.registry.metadata import own
from apiext.resources.registry.request_context import CreateOptions, UpdateOptions
from apiext.resources.registry.rest import ResourceRest
from apiext.resources.registry.strategy import Strategy
from apiext.storage.interface import Preconditions, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.registry.prune_guard import PruneGuard
    from apiext.resources.registry.request_context import DeleteOptions, RequestContext, Updater
    from apiext.storage.interface import Item

_PENDING: Final = Condition(
    TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


class CustomResourceDefinitionStrategy(Strategy):
    """Clients write the spec, the server writes the status."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Set an empty status with the storage version, and the first generation."""
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _with_storage_version(obj["spec"], None),
        }
        obj["metadata"]["generation"] = 1

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate the definition and its metadata."""
        # loaded on the first write of a definition: the import is slow
        from apiext.resources.definitions.validation.definition import validate_create

        return validate_create(obj)

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about unknown formats and sets of composites."""
        from apiext.resources.definitions.validation.warnings import warnings

        return warnings(obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old status and add a new storage version to it. Increase the generation for a changed spec. Keep mirror annotations."""
        _keep_annotations(obj["metadata"], old["metadata"])
        stored = _with_storage_version(obj["spec"], old["status"]["storedVersions"])
        obj["status"] = old["status"] | {"storedVersions": stored}
        unused_versions.retain(obj, old)
        if not json_values.equal(obj["spec"], old["spec"]) and not json_values.equal(compact(obj["spec"]), old["spec"]):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the definition, with ratcheting."""
        # loaded on the first write of a definition: the import is slow
        from apiext.resources.definitions.validation.definition import validate_update

        return validate_update(obj, old)

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Return the new warnings: those that the old definition does not cause."""
        from apiext.resources.definitions.validation.warnings import warnings

        return warnings(obj, old)

    def canonicalize(self, obj: Object) -> None:
        """Drop empty members of schemas, after validation."""
        obj["spec"] = compact(obj["spec"])


class CustomResourceDefinitionStatusStrategy(CustomResourceDefinitionStrategy):
    """Strategy of the status subresource: keeps the spec."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old spec."""
        _keep_annotations(obj["metadata"], old["metadata"])
        # The reference intends to reset the metadata, but takes it from the new object: labels and annotations change.
        obj["spec"] = old["spec"]
        unused_versions.retain(obj, old)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the metadata and the accepted names."""
        # loaded on the first write of a definition: the import is slow
        from apiext.resources.definitions.validation.definition import validate_status_update

        return validate_status_update(obj, old)

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Return no warnings."""
        return []


@dataclass(kw_only=True, eq=False)
class CustomResourceDefinitionRest(ResourceRest):
    """The verbs of definitions. Calls `observe` after each write and `forget` after each deletion: the next request sees the change."""

    observe: Callable[[Item], None]
    forget: Callable[[str, int], None]
    guard: PruneGuard
    strategy: Strategy = field(default_factory=CustomResourceDefinitionStrategy)
    resource: GroupResource = RESOURCE
    namespaced: bool = False

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Create a definition."""
        item = await super().create(ctx, obj, options)
        if not options.dry_run:
            self.observe(item)
        return item

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Update a definition."""

        async def admit(operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
            if options.admit is not None:
                await options.admit(operation, new, old)
            if new is not None and old is not None:
                await self.guard.check(ctx, new, old)

        item, created = await super().update(ctx, name, updater, dataclasses.replace(options, admit=admit))
        metadata = item.object()["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            # The update removed the last finalizer and the definition; the watch reports it.
            return item, created
        if not options.dry_run:
            self.observe(item)
        return item, created

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Mark a definition for deletion, which deletes its instances. Return its last state, and whether it is deleted."""
        item = await self.get(ctx, name)
        current_work().check_size(len(item.data), MAX_INLINE_BYTES)
        metadata = item.object()["metadata"]
        check_stored(metadata, options, RESOURCE, "precondition failed")
        unchanged = dataclasses.replace(options.preconditions or Preconditions(), uid=metadata.get("uid", ""))
        options = dataclasses.replace(options, preconditions=unchanged)
        if "deletionTimestamp" not in metadata:
            item = await self._mark(name, options)
            if not options.dry_run:
                self.observe(item)
            return item, False
        item, gone = await super().delete(ctx, name, options)
        if gone and not options.dry_run:
            self.forget(item.key, item.revision)
        return item, gone

    async def _mark(self, name: str, options: DeleteOptions) -> Item:
        async def mark(existing: Object, _revision: int) -> Object:
            if options.admit is not None:
                await options.admit(AdmissionOperation.DELETE, None, existing)
            crd = own(existing)
            metadata = crd["metadata"]
            metadata.setdefault("deletionTimestamp", time.now())
            finalizers = metadata.get("finalizers") or []
            if CLEANUP_FINALIZER not in finalizers:
                metadata["finalizers"] = [*finalizers, CLEANUP_FINALIZER]
            conditions.put(crd, _PENDING)
            return crd

        try:
            write = WriteOptions(preconditions=options.preconditions, dry_run=options.dry_run)
            item, _ = await self.store.guaranteed_update(name, self.codec, mark, write)
        except StorageFailure as error:
            raise interpret(error, resource=RESOURCE, operation="update", name=name) from error
        return item


def _keep_annotations(metadata: Object, before: Object) -> None:
    """Keep the annotations of a mirror: the uid of the host's definition, and the revision and phase if an update omits them."""
    known: dict[str, str] = before.get("annotations") or {}
    if HOST_UID not in known:
        return
    kept = {mark: known[mark] for mark in (HOST_UID, HOST_REVISION, PHASE) if mark in known}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {**kept, **annotations, HOST_UID: known[HOST_UID]}


def _with_storage_version(spec: Object, stored: list[str] | None) -> list[str] | None:
    name = unused_versions.storage_version(spec)
    if name is None or name in (stored or ()):
        return stored
    return [*(stored or ()), name]
