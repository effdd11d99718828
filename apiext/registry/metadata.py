"""What the registry itself does to metadata, for every resource (apiserver pkg/registry/rest: meta.go, create.go, update.go)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from apiext.meta import errors, field, names, objectmeta_rules, time
from apiext.meta.gvk import GroupKind, GroupResource, parse_group_version
from apiext.registry.errors import MODIFIED
from apiext.registry.managed_fields import carry_managers
from apiext.storage import versioner

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext
    from apiext.registry.strategy import Strategy

_RESOURCE_VERSION = field.Path("metadata", "resourceVersion")


def own(obj: Object) -> Object:
    """A copy whose top level and metadata may be changed."""
    copied = dict(obj)
    copied["metadata"] = dict(obj.get("metadata") or {})
    return copied


def group_kind(obj: Object) -> GroupKind:
    """The kind that an object says it is, as validation errors name it."""
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    group = parse_group_version(api_version).group if isinstance(api_version, str) else ""
    return GroupKind(group, kind if isinstance(kind, str) else "")


def fill_system_fields(metadata: Object) -> None:
    """Give a new object its creation time and its uid."""
    metadata["creationTimestamp"] = time.now()
    metadata["uid"] = str(uuid.uuid4())


def wipe_system_fields(metadata: Object) -> None:
    """Forget what only the server may set, of an object that an update is about to create."""
    for name in ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)


def match_namespace(metadata: Object, request_namespace: str) -> None:
    """Make an object be in the request's namespace ("" for cluster-scoped resources). Raises StatusError if it says otherwise."""
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
    """The resourceVersion that a client's object names, 0 for none. Raises StatusError for what is no number."""
    text = metadata.get("resourceVersion", "")
    if not text:
        return 0
    try:
        return versioner.parse_uint(text)
    except ValueError as error:
        raise errors.unknown(str(error)) from error


def names_revision(metadata: Object) -> bool:
    """Whether metadata names a revision other than 0; what is no number names none."""
    text = metadata.get("resourceVersion")
    if not text:
        return False
    try:
        return versioner.parse_uint(text) > 0
    except ValueError:
        return False


def check_resource_version(metadata: Object, current: int, *, resource: GroupResource, name: str, unconditional: bool) -> None:
    """Refuse an update based on another state than the current one; where an update may be unconditional, fill it in."""
    given = given_resource_version(metadata)
    if given == current:
        return
    if given:
        raise errors.conflict(resource, name, MODIFIED)
    if not unconditional:
        problem = field.invalid(_RESOURCE_VERSION, 0, "must be specified for an update")
        raise errors.invalid(GroupKind(resource.group, resource.resource), name, [problem])
    metadata["resourceVersion"] = str(current)


def before_create(ctx: RequestContext, obj: Object, strategy: Strategy, *, namespaced: bool) -> None:
    """Prepare and validate a new object that has its system fields and its name. Raises StatusError."""
    metadata = obj["metadata"]
    match_namespace(metadata, ctx.namespace if namespaced else "")
    carry_managers(metadata, {})
    strategy.prepare_for_create(ctx, obj)
    problems = strategy.validate(ctx, obj)
    if problems:
        problems = field.distinct(problems) if strategy.distinct_errors else problems
        raise errors.invalid(group_kind(obj), metadata.get("name", ""), problems)
    ctx.warnings += strategy.warnings_on_create(ctx, obj)
    strategy.canonicalize(obj)


def before_update(ctx: RequestContext, obj: Object, old: Object, strategy: Strategy, *, namespaced: bool) -> None:
    """Prepare and validate a changed object. Raises StatusError."""
    if not obj.get("apiVersion"):
        raise errors.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    metadata, before = obj["metadata"], old["metadata"]
    match_namespace(metadata, ctx.namespace if namespaced else "")
    carry_managers(metadata, before, subresource=ctx.info.subresource if ctx.info is not None else "")
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
    problems = objectmeta_rules.validate(metadata, namespaced=namespaced, name_rule=names.path_segment)
    problems += objectmeta_rules.validate_update(metadata, before)
    problems += strategy.validate_update(ctx, obj, old)
    if problems:
        problems = field.distinct(problems) if strategy.distinct_errors else problems
        raise errors.invalid(group_kind(obj), metadata.get("name", ""), problems)
    ctx.warnings += strategy.warnings_on_update(ctx, obj, old)
    strategy.canonicalize(obj)


def _keep(metadata: Object, before: Object, name: str) -> None:
    if name in before:
        metadata[name] = before[name]
    else:
        metadata.pop(name, None)
