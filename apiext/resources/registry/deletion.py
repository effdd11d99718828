"""Deletion: options, finalizers of the garbage collector, deletion timestamps.

Mirrors apiserver pkg/registry/rest/delete.go and generic/registry/store.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors, field, time
from apiext.base.meta.gvk import GroupKind, GroupResource
from apiext.base.meta.objectmeta.validation import FINALIZER_FOREGROUND, FINALIZER_ORPHAN
from apiext.resources.registry.metadata import group_kind
from apiext.storage.interface import Preconditions

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.request_context import DeleteOptions

ORPHAN: Final = "Orphan"
BACKGROUND: Final = "Background"
FOREGROUND: Final = "Foreground"
_OF_THE_COLLECTOR: Final = frozenset({FINALIZER_ORPHAN, FINALIZER_FOREGROUND})


def check_options(options: DeleteOptions) -> None:
    """Validate the options of a deletion.

    Raises:
        StatusError: 422 for contradictory or unknown options.
    """
    policy, problems = options.propagation_policy, []
    path = field.Path("propagationPolicy")
    if policy is None:
        return
    if options.orphan_dependents is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(field.invalid(path, field.typed_text(policy), detail))
    if policy not in (FOREGROUND, BACKGROUND, ORPHAN):
        problems.append(field.not_supported(path, field.typed_text(policy), (FOREGROUND, BACKGROUND, ORPHAN, "nil")))
    if problems:
        raise errors.invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", problems)


def check_preconditions(obj: Object, options: DeleteOptions) -> None:
    """Check the preconditions of a deletion.

    Raises:
        StatusError: 409 if one does not hold.
    """
    wanted = options.preconditions
    if wanted is None:
        return
    metadata, kind = obj["metadata"], group_kind(obj)
    uid, version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    why = ""
    if wanted.uid is not None and wanted.uid != uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
    elif wanted.resource_version is not None and wanted.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified"
        )
    if why:
        raise errors.conflict(GroupResource(kind.group, kind.kind), metadata.get("name", ""), why)


def check_stored(metadata: Object, options: DeleteOptions, resource: GroupResource, failed: str) -> None:
    """Check preconditions before the first step of a deletion in two steps. `failed` begins the message.

    Raises:
        StatusError: 409 if one does not hold.
    """
    wanted = options.preconditions or Preconditions()
    for label, given, found in (
        ("UID", wanted.uid, metadata.get("uid", "")),
        ("ResourceVersion", wanted.resource_version, metadata.get("resourceVersion", "")),
    ):
        if given is not None and given != found:
            why = f"{failed}: {label} in precondition: {given}, {label} in object meta: {found}"
            raise errors.conflict(resource, metadata["name"], why)


def finalizers_for(metadata: Object, options: DeleteOptions, *, garbage_collected: bool) -> list[str]:
    """Return the ordered finalizers of an object at the start of its deletion."""
    finalizers: list[str] = metadata.get("finalizers", [])
    if not garbage_collected:
        return finalizers
    orphan, foreground = _propagation(finalizers, options)
    kept = [name for name in finalizers if name not in _OF_THE_COLLECTOR]
    if orphan:
        kept.append(FINALIZER_ORPHAN)
    if foreground:
        kept.append(FINALIZER_FOREGROUND)
    return finalizers if set(kept) == set(finalizers) else kept


def _propagation(finalizers: list[str], options: DeleteOptions) -> tuple[bool, bool]:
    """Return whether to orphan dependents, and whether to delete them first."""
    if options.orphan_dependents is not None:
        return options.orphan_dependents, False
    if options.propagation_policy is not None:
        return options.propagation_policy == ORPHAN, options.propagation_policy == FOREGROUND
    first = next((name for name in finalizers if name in _OF_THE_COLLECTOR), "")
    return first == FINALIZER_ORPHAN, first == FINALIZER_FOREGROUND


def mark_as_deleting(metadata: Object, finalizers: list[str]) -> None:
    """Set the deletion timestamp and the finalizers."""
    now = time.now()
    if "deletionTimestamp" not in metadata and metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    if metadata.get("deletionTimestamp", "9") > now:
        metadata["deletionTimestamp"] = now
    metadata["deletionGracePeriodSeconds"] = 0
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
