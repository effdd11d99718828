"""The operator's changes of the host's definitions: conditions, finalizer, and stored versions.

The only other changes: after a take-over or hand-over, adoption/watch_reset.py adds a category and removes it again; a terminating
definition gets the versions that its deletion needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final

from apiext.base.meta import host_annotations, time
from apiext.operator.api_clients import CRDS, ApiClient, ApiError, Json
from apiext.operator.group_state import condition_of, is_held
from apiext.operator.ownership import is_of_another, service_of

Change = Callable[[Json], Json | None]
"""Returns the merge patch for an object, None if it needs no change."""
_MAX_ATTEMPTS: Final = 8


class ConditionReason(StrEnum):
    """Reasons of the condition ServedByApiext."""

    SERVING = "Serving"
    HAND_OVER_BLOCKED = "HandOverBlocked"
    """The hand-over is requested, but not possible."""
    ADOPTING = "Adopting"
    BLOCKED = "Blocked"
    FAILED = "Failed"
    HANDING_OVER = "HandingOver"
    HANDED_OVER = "HandedOver"

    @property
    def is_served(self) -> bool:
        """Whether apiext serves the group: the status of the condition."""
        return self in {ConditionReason.SERVING, ConditionReason.HAND_OVER_BLOCKED}

    @property
    def needs_attention(self) -> bool:
        """Whether a person has to act."""
        return self in {ConditionReason.FAILED, ConditionReason.BLOCKED, ConditionReason.HAND_OVER_BLOCKED}


async def amend(
    host: ApiClient, crd: Json, change: Change, *, status: bool = False, manager: str = "", collection: str = CRDS
) -> Json | None:
    """Change a definition of the host; after a conflict, read it and try again. Return it, None if it was deleted.

    A definition of the same name with another uid is not changed. `manager` names the owner of the changed fields. `collection` is the
    path of other objects than CRDs.

    Raises:
        ApiError: a call failed, or the last of 8 attempts ended in a conflict.
    """
    path = f"{collection}/{crd['metadata']['name']}"
    place = f"{path}/status" if status else path
    query = f"?fieldManager={manager}" if manager else ""
    found = crd
    for attempt in range(_MAX_ATTEMPTS):
        patch = change(found)
        if patch is None:
            return found
        metadata = {**patch.get("metadata", {}), "resourceVersion": found["metadata"]["resourceVersion"]}
        try:
            return await host.patch(f"{place}{query}", {**patch, "metadata": metadata})
        except ApiError as error:
            if error.code == 404:
                return None
            if error.code != 409 or attempt == _MAX_ATTEMPTS - 1:
                raise
        fresh = await host.find(path)
        if fresh is None or fresh["metadata"]["uid"] != crd["metadata"]["uid"]:
            return None
        found = fresh
    return found


def condition(reason: ConditionReason, message: str) -> Change:
    """Return the change that sets the condition ServedByApiext."""
    return set_condition(host_annotations.CONDITION, reason.value, message, status=reason.is_served)


def set_condition(type: str, reason: str, message: str, *, status: bool) -> Change:
    """Return the change that sets a condition; lastTransitionTime changes only with the status."""
    state = "True" if status else "False"

    def change(crd: Json) -> Json | None:
        new: dict[str, Any] = {"type": type, "status": state, "reason": reason, "message": message}
        before = condition_of(crd, type)
        if {**new, "lastTransitionTime": before.get("lastTransitionTime")} == before:
            return None
        new["lastTransitionTime"] = before["lastTransitionTime"] if before.get("status") == state else time.now()
        return {"status": {"conditions": [*_other_conditions(crd, type), new]}}

    return change


def remove_condition(type: str) -> Change:
    """Return the change that removes a condition."""

    def change(crd: Json) -> Json | None:
        return {"status": {"conditions": _other_conditions(crd, type)}} if condition_of(crd, type) else None

    return change


def _other_conditions(crd: Json, type: str) -> list[Json]:
    return [one for one in (crd.get("status") or {}).get("conditions") or () if one.get("type") != type]


def add_finalizer(service: str) -> Change:
    """Return the change that adds the finalizer of the apiext behind a Service. A terminating definition accepts no new finalizer.

    The change raises ApiError if another apiext owns the definition.
    """
    restore = restore_finalizer(service)

    def change(crd: Json) -> Json | None:
        if not crd["metadata"].get("deletionTimestamp") and is_held(crd) and is_of_another(crd, service):
            raise ApiError(f"{crd['metadata']['name']} belongs to the apiext behind Service {service_of(crd)}", code=409)
        return restore(crd)

    return change


def restore_finalizer(service: str) -> Change:
    """Return the change that adds the finalizer to a definition of the apiext behind a Service, whatever its annotation says."""

    def change(crd: Json) -> Json | None:
        if crd["metadata"].get("deletionTimestamp") or (is_held(crd) and service_of(crd) == service):
            return None
        finalizers = [*_other_finalizers(crd), host_annotations.INSTANCES_FINALIZER]
        return {"metadata": {"finalizers": finalizers, "annotations": {host_annotations.SERVICE: service}}}

    return change


def remove_finalizer(crd: Json) -> Json | None:
    """Return the patch that removes the finalizer, None if there is none."""
    if not is_held(crd):
        return None
    return {"metadata": {"finalizers": _other_finalizers(crd), "annotations": {host_annotations.SERVICE: None}}}


def _other_finalizers(crd: Json) -> list[str]:
    return [name for name in crd["metadata"].get("finalizers") or () if name != host_annotations.INSTANCES_FINALIZER]


def add_stored_versions(versions: Iterable[str]) -> Change:
    """Return the change that adds versions to the stored versions, except versions that the definition does not have."""

    def change(crd: Json) -> Json | None:
        before = stored_versions(crd)
        lost = missing_versions(crd, versions)
        missing = [version for version in versions if version not in before and version not in lost]
        return {"status": {"storedVersions": [*before, *missing]}} if missing else None

    return change


def stored_versions(crd: Json) -> list[str]:
    """Return the stored versions of a definition."""
    return list((crd.get("status") or {}).get("storedVersions") or ())


def missing_versions(crd: Json, versions: Iterable[str]) -> list[str]:
    """Return the given versions that a definition does not have."""
    known = {version["name"] for version in crd["spec"]["versions"]}
    return [version for version in versions if version not in known]


def make_readable(versions: Iterable[str]) -> Change:
    """Return the change with which the host serves its objects in these versions in CLEANUP_VERSION: without a webhook or pruning.

    Only for a terminating definition.
    """

    def change(crd: Json) -> Json | None:
        spec: Json = {}
        if (crd["spec"].get("conversion") or {}).get("strategy") == "Webhook":
            spec["conversion"] = {"strategy": "None", "webhook": None}
        if lost := missing_versions(crd, [host_annotations.CLEANUP_VERSION, *versions]):
            schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
            added = [
                {"name": name, "served": name == host_annotations.CLEANUP_VERSION, "storage": False, "schema": schema} for name in lost
            ]
            spec["versions"] = [*crd["spec"]["versions"], *added]
        return {"spec": spec} if spec else None

    return change


def storage_version(crd: Json) -> str:
    """Return the storage version of a definition."""
    return next(str(version["name"]) for version in crd["spec"]["versions"] if version.get("storage"))
