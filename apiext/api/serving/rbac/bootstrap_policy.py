"""The default roles and bindings of the reference, created at each start and brought up to date.

`data/bootstrap.json` is written by `hack/bootstrap-policy`. Mirrors kubernetes pkg/registry/rbac/rest/storage_rbac.go and
component-helpers auth/rbac/reconciliation. The copies of roles of clusters older than 1.14 are left out: this server never had them.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from apiext.api.authorization.rbac.escalation import missing_rules
from apiext.api.authorization.rbac.rules import read_rules
from apiext.api.serving.builtin.own_objects import create_object
from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.request_context import DeleteOptions, RequestContext, UpdateOptions
from apiext.storage.interface import ListOptions, Preconditions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.rest import ResourceRest

_LOG: Final = get_logger(__name__)
PLURALS: Final = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
"""In the order of reconciliation."""
_AUTO_UPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
ANNOTATIONS: Final = {_AUTO_UPDATE: "true"}
LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ATTEMPTS: Final = 3


def default_objects() -> dict[str, list[Object]]:
    """Return the default objects by plural. Reads the file."""
    found: dict[str, list[Object]] = orjson.loads((files("apiext.api.serving.rbac") / "data" / "bootstrap.json").read_bytes())
    for objects in found.values():
        for obj in objects:
            metadata = obj["metadata"]
            metadata["labels"] = {**LABELS, **metadata.get("labels", {})}
            metadata["annotations"] = dict(ANNOTATIONS)
    return found


async def ensure_policy(scopes: Mapping[str, Scope]) -> None:
    """Create missing default objects, and add missing rules, subjects, labels and annotations. `scopes` are those of each plural.

    Raises:
        StatusError, BackendError, StorageError: the store cannot be read or written.
    """
    for plural, objects in default_objects().items():
        rest = cast("ResourceRest", scopes[plural].rest)
        listed = await rest.store.list("", rest.codec, ListOptions())
        known = {item.key: item.object() for item in listed.items}
        work = (_ensure(scopes[plural], obj, known.get(_key(obj))) for obj in objects)
        await asyncio.gather(*work)


def _key(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


async def _ensure(scope: Scope, expected: Object, existing: Object | None) -> None:
    """Create or update one object. Other servers may do the same at the same time."""
    for _ in range(_ATTEMPTS):
        try:
            if existing is None:
                await _create(scope, expected)
            elif _is_protected(existing):
                return
            elif "roleRef" in expected and expected["roleRef"] != existing["roleRef"]:
                await _delete(scope, existing)
                await _create(scope, expected)
            elif reconciled(existing, expected) != existing:
                await _update(scope, expected)
        except errors.StatusError as error:
            if error.code not in {404, 409}:
                raise
            existing = await _read(scope, expected)
            continue
        return
    _LOG.warning("default RBAC object changes too often", resource=str(scope.resource.group_resource), name=_key(expected))


def _is_protected(obj: Object) -> bool:
    return (obj["metadata"].get("annotations") or {}).get(_AUTO_UPDATE) == "false"


async def _read(scope: Scope, expected: Object) -> Object | None:
    metadata = expected["metadata"]
    try:
        item = await scope.rest.get(RequestContext(namespace=metadata.get("namespace", "")), metadata["name"])
    except errors.StatusError as error:
        if error.code == 404:
            return None
        raise
    return item.object()


async def _create(scope: Scope, expected: Object) -> None:
    await create_object(scope, expected)
    _LOG.debug("default RBAC object created", resource=str(scope.resource.group_resource), name=_key(expected))


async def _update(scope: Scope, expected: Object) -> None:
    async def update(existing: Object) -> Object:
        obj = reconciled(existing, expected)
        await scope.fields.update(existing, obj, SERVER)
        return obj

    metadata = expected["metadata"]
    await scope.rest.update(RequestContext(namespace=metadata.get("namespace", "")), metadata["name"], update, UpdateOptions())
    _LOG.info("default RBAC object updated", resource=str(scope.resource.group_resource), name=_key(expected))


async def _delete(scope: Scope, existing: Object) -> None:
    metadata = existing["metadata"]
    options = DeleteOptions(preconditions=Preconditions(uid=metadata["uid"]))
    await scope.rest.delete(RequestContext(namespace=metadata.get("namespace", "")), metadata["name"], options)


def reconciled(existing: Object, expected: Object) -> Object:
    """Return an existing object with the rules, subjects, selectors, labels and annotations of the expected one that it lacks."""
    obj: Object = dict(existing)
    metadata: dict[str, Any] = dict(existing["metadata"])
    for name in ("labels", "annotations"):
        merged = {**expected["metadata"][name], **(metadata.get(name) or {})}
        metadata[name] = dict(sorted(merged.items()))
    obj["metadata"] = metadata
    if "roleRef" in expected:
        known = obj.get("subjects") or []
        missing = [subject for subject in expected.get("subjects") or () if subject not in known]
        return {**obj, "subjects": known + missing} if missing else obj
    missing_rights = missing_rules(read_rules(obj.get("rules")), read_rules(expected.get("rules")))
    if missing_rights:
        obj["rules"] = [*(obj.get("rules") or ()), *(rule.as_json() for rule in missing_rights)]
    return _with_selectors(obj, expected.get("aggregationRule"))


def _with_selectors(obj: Object, expected: Object | None) -> Object:
    known = obj.get("aggregationRule")
    if expected is None:
        return {name: member for name, member in obj.items() if name != "aggregationRule"}
    selectors = (known or {}).get("clusterRoleSelectors") or []
    missing = [selector for selector in expected["clusterRoleSelectors"] if selector not in selectors]
    return {**obj, "aggregationRule": {"clusterRoleSelectors": selectors + missing}} if missing else obj
