"""Metadata of every resource (apiserver pkg/registry/rest: meta.go, create.go, update.go).

Managed times: apiserver pkg/endpoints/handlers/fieldmanager/equality.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta import errors, field, names, time
from apiext.base.meta.encoding import json_values
from apiext.base.meta.gvk import GroupKind, GroupResource, parse_group_version
from apiext.base.meta.objectmeta import validation
from apiext.base.random_uuid import random_uuid
from apiext.base.scheduling.inline_work import bounded
from apiext.resources.registry.errors import MODIFIED
from apiext.storage import versioner

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext
    from apiext.resources.registry.strategy import Strategy

_RESOURCE_VERSION = field.Path("metadata", "resourceVersion")
_SYSTEM_FIELDS = frozenset({"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
_KEPT_BY_STATUS = ("selfLink", "generation", "deletionTimestamp", "labels", "annotations", "ownerReferences", "finalizers")


def keep_times(obj: Object, existing: Object) -> None:
    """Restore the existing managedFields, in place, if a new object differs from the existing one only in their times."""
    metadata, before = obj["metadata"], existing["metadata"]
    entries, known = metadata.get("managedFields"), before.get("managedFields")
    # most updates change the generation, which is fast to compare
    if not entries or not known or len(entries) != len(known) or metadata.get("generation") != before.get("generation"):
        return
    # comparing times first finds most changes of content soonest
    if _times(entries) == _times(known) or not _same_rest(obj, existing):
        return
    same_entries = [_without("time", entry) for entry in entries] == [_without("time", entry) for entry in known]
    if same_entries and _without("managedFields", metadata) == _without("managedFields", before):
        metadata["managedFields"] = known


def _times(entries: list[Object]) -> list[Any]:
    return [entry.get("time") for entry in entries]


def _without(left_out: str, obj: Object) -> Object:
    return {name: member for name, member in obj.items() if name != left_out}


def _same_rest(obj: Object, existing: Object) -> bool:
    return obj.keys() == existing.keys() and all(
        json_values.equal(member, existing[name]) for name, member in obj.items() if name != "metadata"
    )


def own(obj: Object) -> Object:
    """Return a copy whose top level and metadata the caller may change."""
    copied = dict(obj)
    copied["metadata"] = dict(obj.get("metadata") or {})
    return copied


def group_kind(obj: Object) -> GroupKind:
    """Return the object's own group and kind, for validation errors."""
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    group = parse_group_version(api_version).group if isinstance(api_version, str) else ""
    return GroupKind(group, kind if isinstance(kind, str) else "")


def keep_for_status(metadata: Object, before: Object) -> None:
    """Restore the metadata that a status update must not change (apimachinery: ResetObjectMetaForStatus)."""
    for name in _KEPT_BY_STATUS:
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]


def wipe_system_fields(metadata: Object) -> None:
    """Drop the fields that only the server sets."""
    if _SYSTEM_FIELDS.isdisjoint(metadata):
        return
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)


def match_namespace(metadata: Object, request_namespace: str) -> None:
    """Set the request's namespace in an object ("" for cluster-scoped resources).

    Raises:
        StatusError: 400 if the object has another one.
    """
    namespace = metadata.get("namespace", "")
    if namespace == request_namespace:
        return
    if not request_namespace:
        del metadata["namespace"]
    elif not namespace:
        metadata["namespace"] = request_namespace
    else:
        raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def given_resource_version(metadata: Object) -> int:
    """Return the resourceVersion of a client's object, 0 if it has none.

    Raises:
        StatusError: it is not a number.
    """
    text = metadata.get("resourceVersion", "")
    if not text:
        return 0
    try:
        return versioner.parse_uint(text)
    except ValueError as error:
        raise errors.unknown(str(error)) from error


def names_revision(metadata: Object) -> bool:
    """Report whether metadata has a resourceVersion other than 0, as a number."""
    try:
        return given_resource_version(metadata) > 0
    except errors.StatusError:
        return False


def check_resource_version(metadata: Object, current: int, *, resource: GroupResource, name: str, unconditional: bool) -> None:
    """Check that an update is based on the current state. Set an omitted resourceVersion if the update may be unconditional.

    Raises:
        StatusError: 409 if it is not; 422 if a required resourceVersion is missing.
    """
    given = given_resource_version(metadata)
    if given == current:
        return
    if given:
        raise errors.conflict(resource, name, MODIFIED)
    if not unconditional:
        problem = field.invalid(_RESOURCE_VERSION, 0, "must be specified for an update")
        raise errors.invalid(GroupKind(resource.group, resource.resource), name, [problem])
    metadata["resourceVersion"] = str(current)


async def before_create(ctx: RequestContext, obj: Object, strategy: Strategy, *, namespaced: bool) -> None:
    """Set the system fields and the generated name of a new object; prepare and validate it.

    Raises:
        StatusError: the object is invalid.
    """
    metadata = obj["metadata"]
    metadata["creationTimestamp"] = time.now()
    metadata["uid"] = random_uuid()
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = names.generate_name(metadata["generateName"])
    match_namespace(metadata, ctx.namespace if namespaced else "")
    strategy.prepare_for_create(ctx, obj)
    problems = await bounded(lambda: strategy.validate(ctx, obj), strategy)
    _check(obj, strategy, problems)
    ctx.warnings += strategy.warnings_on_create(ctx, obj)
    strategy.canonicalize(obj)


def before_update(ctx: RequestContext, obj: Object, old: Object, strategy: Strategy, *, namespaced: bool) -> None:
    """Prepare and validate a changed object.

    Raises:
        StatusError: the object is invalid.
    """
    problems, changes = _prepare_for_update(ctx, obj, old, strategy, namespaced=namespaced)
    _finish_update(ctx, obj, old, strategy, problems + strategy.validate_update(ctx, obj, old, changes))


async def before_bounded_update(ctx: RequestContext, obj: Object, old: Object, strategy: Strategy, *, namespaced: bool) -> None:
    """Prepare and validate a changed object, as `before_update`, and beside the event loop if that takes long.

    Raises:
        StatusError: the object is invalid.
    """
    problems, changes = _prepare_for_update(ctx, obj, old, strategy, namespaced=namespaced)
    problems += await bounded(lambda: strategy.validate_update(ctx, obj, old, changes), strategy)
    _finish_update(ctx, obj, old, strategy, problems)


def _prepare_for_update(
    ctx: RequestContext, obj: Object, old: Object, strategy: Strategy, *, namespaced: bool
) -> tuple[list[FieldError], list[FieldError]]:
    """Return the errors of the metadata, and those of them that concern its changes."""
    if not obj.get("apiVersion"):
        raise errors.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    metadata, before = obj["metadata"], old["metadata"]
    match_namespace(metadata, ctx.namespace if namespaced else "")
    _keep(metadata, before, "generation")
    strategy.prepare_for_update(ctx, obj, old)
    metadata = obj["metadata"]
    if "uid" not in metadata:
        _keep(metadata, before, "uid")
    for name in ("creationTimestamp", "deletionTimestamp"):
        if name in before:
            metadata[name] = before[name]
    if "deletionGracePeriodSeconds" not in metadata:
        _keep(metadata, before, "deletionGracePeriodSeconds")
    problems = validation.validate(metadata, namespaced=namespaced, name_rule=names.path_segment)
    changes = validation.validate_update(metadata, before, is_valid=not problems)
    return problems + changes, changes


def _check(obj: Object, strategy: Strategy, problems: list[FieldError]) -> None:
    if problems:
        problems = field.distinct(problems) if strategy.distinct_errors else problems
        raise errors.invalid(strategy.error_kind or group_kind(obj), obj["metadata"].get("name", ""), problems)


def _finish_update(ctx: RequestContext, obj: Object, old: Object, strategy: Strategy, problems: list[FieldError]) -> None:
    _check(obj, strategy, problems)
    ctx.warnings += strategy.warnings_on_update(ctx, obj, old)
    strategy.canonicalize(obj)
    keep_times(obj, old)


def _keep(metadata: Object, before: Object, name: str) -> None:
    if name in before:
        metadata[name] = before[name]
    else:
        metadata.pop(name, None)
