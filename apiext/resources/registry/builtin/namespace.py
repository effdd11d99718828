"""core/v1 Namespaces for standalone use: phases, spec.finalizers and two-step deletion (kubernetes pkg/registry/core/namespace)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names, time
from apiext.base.meta.builtin_resources import NAMESPACES
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.objectmeta import validation
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.builtin.shared_rules import (
    NAMESPACE_FINALIZER,
    STANDARD_FINALIZERS,
    core_metadata_errors,
    finalizer_errors,
    unqualified_finalizer,
)
from apiext.resources.registry.deletion import check_stored
from apiext.resources.registry.errors import StorageFailure, interpret
from apiext.resources.registry.metadata import own
from apiext.resources.registry.rest import ResourceRest
from apiext.resources.registry.strategy import Strategy
from apiext.storage.interface import Preconditions, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import DeleteOptions, RequestContext
    from apiext.storage.interface import Item

RESOURCE: Final = NAMESPACES.resource.group_resource
NAME_LABEL: Final = "kubernetes.io/metadata.name"
ACTIVE: Final = "Active"
TERMINATING: Final = "Terminating"
_SPEC_FINALIZERS: Final = field.Path("spec", "finalizers")
_PHASE: Final = field.Path("status", "Phase")


def _fields(obj: Object) -> dict[str, str]:
    name = obj["metadata"].get("name", "")
    return {"metadata.name": name, "status.phase": obj["status"].get("phase", ""), "name": name}


def _default(obj: Object) -> None:
    """Set the default phase Active, and the name label."""
    if not obj["status"].get("phase"):
        obj["status"] = obj["status"] | {"phase": ACTIVE}
    _label(obj)


def _label(obj: Object) -> None:
    """Set the name label."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**metadata.get("labels", {}), NAME_LABEL: metadata["name"]}


def _finalizer_errors(name: str, path: Path) -> list[FieldError]:
    return [field.invalid(path, name, message) for message in names.label_key(name)] + unqualified_finalizer(name, path)


class NamespaceStrategy(Strategy):
    """Updates change metadata only."""

    allow_unconditional_update = True
    distinct_errors = True

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Set phase Active and the namespace finalizer."""
        obj["status"] = {"phase": ACTIVE}
        finalizers = obj.get("spec", {}).get("finalizers") or []
        obj["spec"] = {"finalizers": finalizers if NAMESPACE_FINALIZER in finalizers else [*finalizers, NAMESPACE_FINALIZER]}

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata (the name is a DNS label) and finalizers."""
        problems = core_metadata_errors(obj["metadata"], namespaced=False, name_rule=names.name_is_dns_label)
        for name in obj["spec"].get("finalizers") or ():
            problems += _finalizer_errors(name, _SPEC_FINALIZERS)
        return problems

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old spec and status."""
        obj["spec"], obj["status"] = old["spec"], old["status"]

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate metadata and finalizers."""
        return [*self.validate(ctx, obj), *metadata_errors, *finalizer_errors(obj["metadata"])]

    def canonicalize(self, obj: Object) -> None:
        """Set the name label, also for a generated name."""
        _label(obj)

    def may_delete_during_update(self, obj: Object, old: Object) -> bool:
        """Report whether spec.finalizers is empty."""
        return not obj["spec"].get("finalizers")


class NamespaceStatusStrategy(NamespaceStrategy):
    """Strategy of the status subresource: keeps the spec; the phase must match the deletion timestamp."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old spec."""
        obj["spec"] = old["spec"]

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate metadata and phase."""
        problems = [*metadata_errors, *finalizer_errors(obj["metadata"])]
        deleting = "deletionTimestamp" in obj["metadata"]
        phase = obj["status"].get("phase", "")
        if phase != (TERMINATING if deleting else ACTIVE):
            detail = "may only be 'Active' if `deletionTimestamp` is empty"
            if deleting:
                detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            problems.append(field.invalid(_PHASE, phase, detail))
        return problems


class NamespaceFinalizeStrategy(NamespaceStrategy):
    """Strategy of the finalize subresource: changes spec.finalizers."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old status."""
        obj["status"] = old["status"]

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate metadata and finalizers."""
        problems = [*metadata_errors, *finalizer_errors(obj["metadata"])]
        for index, name in enumerate(obj["spec"].get("finalizers") or ()):
            problems += _finalizer_errors(name, _SPEC_FINALIZERS.index(index))
        return problems


@dataclass(kw_only=True, eq=False)
class NamespaceRest(ResourceRest):
    """The verbs of namespaces. The first deletion sets phase Terminating; the namespace is deleted when spec.finalizers is empty."""

    strategy: Strategy = dataclasses.field(default_factory=NamespaceStrategy)
    resource: GroupResource = RESOURCE
    namespaced: bool = False

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Begin or complete the deletion of a namespace; return its last state, and whether it is deleted."""
        item = await self.get(ctx, name)
        obj = item.object()
        check_stored(obj["metadata"], options, RESOURCE, "Precondition failed")
        if "deletionTimestamp" not in obj["metadata"]:
            return await self._terminate(name, options), False
        if obj["spec"].get("finalizers"):
            return item, False
        options = dataclasses.replace(options, preconditions=Preconditions(uid=obj["metadata"].get("uid")))
        return await super().delete(ctx, name, options)

    async def _terminate(self, name: str, options: DeleteOptions) -> Item:
        async def terminate(existing: Object, _revision: int) -> Object:
            check_stored(existing["metadata"], options, RESOURCE, "Precondition failed")
            if options.admit is not None:
                await options.admit(AdmissionOperation.DELETE, None, existing)
            obj = own(existing)
            metadata = obj["metadata"]
            metadata.setdefault("deletionTimestamp", time.now())
            obj["status"] = {**obj["status"], "phase": TERMINATING}
            finalizers = _finalizers(metadata.get("finalizers", []), options)
            metadata.pop("finalizers", None)
            if finalizers:
                metadata["finalizers"] = finalizers
            return obj

        try:
            item, _ = await self.store.guaranteed_update(name, self.codec, terminate, WriteOptions(dry_run=options.dry_run))
        except StorageFailure as error:
            raise interpret(error, resource=RESOURCE, operation="delete", name=name) from error
        return item


def _finalizers(finalizers: list[str], options: DeleteOptions) -> list[str]:
    orphan = validation.FINALIZER_ORPHAN in finalizers
    foreground = validation.FINALIZER_FOREGROUND in finalizers
    if options.orphan_dependents is not None:
        orphan, foreground = options.orphan_dependents, not options.orphan_dependents
    elif options.propagation_policy is not None:
        orphan, foreground = options.propagation_policy == "Orphan", options.propagation_policy == "Foreground"
    kept = [name for name in finalizers if name not in STANDARD_FINALIZERS or name == NAMESPACE_FINALIZER]
    kept += [validation.FINALIZER_ORPHAN] if orphan else []
    return kept + ([validation.FINALIZER_FOREGROUND] if foreground else [])


NAMESPACE_KIND: Final = BuiltinKind(
    resource=NAMESPACES,
    struct=struct_of(NAMESPACES.kind),
    strategy=NamespaceStrategy(),
    selectable=_fields,
    default=_default,
    rest_type=NamespaceRest,
)
