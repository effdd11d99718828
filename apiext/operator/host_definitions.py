"""What the operator writes to definitions of the host: a condition, its finalizer, stored versions; and nothing else.

But for a category that comes and goes when a group has changed hands (adoption/touching.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import host_annotations, time
from apiext.operator import group_state
from apiext.operator.api_clients import CRDS, ApiError, Json
from apiext.operator.apiservices.ownership import is_of_another, service_of
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from apiext.operator.api_clients import Api

Change = Callable[[Json], Json | None]
"""The merge patch that an object needs, None for none."""
_ATTEMPTS: Final = 8


async def amend(host: Api, crd: Json, change: Change, *, status: bool = False) -> Json | None:
    """Change a definition of the host, from the state that is known and then from what it is; None where it has gone.

    An object of the same name with another uid is another definition, and is left alone. Raises ApiError.
    """
    path = f"{CRDS}/{crd['metadata']['name']}"
    found = crd
    for attempt in range(_ATTEMPTS):
        patch = change(found)
        if patch is None:
            return found
        metadata = {**patch.get("metadata", {}), "resourceVersion": found["metadata"]["resourceVersion"]}
        try:
            return await host.patch(f"{path}/status" if status else path, {**patch, "metadata": metadata})
        except ApiError as error:
            if error.code == 404:
                return None
            if error.code != 409 or attempt == _ATTEMPTS - 1:
                raise
        fresh = await host.find(path)
        if fresh is None or fresh["metadata"]["uid"] != crd["metadata"]["uid"]:
            return None
        found = fresh
    return found


def condition(reason: Reason, message: str) -> Change:
    """Say how it is with apiext; the time of the condition is that of its last change between True and False."""

    def change(crd: Json) -> Json | None:
        state = "True" if reason.is_served else "False"
        said: dict[str, Any] = {"type": host_annotations.CONDITION, "status": state, "reason": reason.value, "message": message}
        before = condition_of(crd)
        if before is not None and {**said, "lastTransitionTime": before.get("lastTransitionTime")} == before:
            return None
        same = before is not None and before.get("status") == state
        said["lastTransitionTime"] = before["lastTransitionTime"] if before is not None and same else time.now()
        others = [one for one in (crd.get("status") or {}).get("conditions") or () if one.get("type") != host_annotations.CONDITION]
        return {"status": {"conditions": [*others, said]}}

    return change


def condition_of(crd: Json) -> Json | None:
    """The condition of apiext, None without it."""
    return dict(group_state.condition_of(crd, host_annotations.CONDITION)) or None


def hold(service: str) -> Change:
    """Keep a definition until the apiext behind a Service has no instances of it. One that is being deleted takes no finalizer any more.

    The change raises ApiError where another apiext has it.
    """

    def change(crd: Json) -> Json | None:
        finalizers = list(crd["metadata"].get("finalizers") or ())
        if crd["metadata"].get("deletionTimestamp"):
            return None
        if host_annotations.INSTANCES_FINALIZER in finalizers:
            if is_of_another(crd, service):
                raise ApiError(f"{crd['metadata']['name']} is with the apiext behind Service {service_of(crd)}", code=409)
            if service_of(crd) == service:
                return None
        others = [name for name in finalizers if name != host_annotations.INSTANCES_FINALIZER]
        return {
            "metadata": {"finalizers": [*others, host_annotations.INSTANCES_FINALIZER], "annotations": {host_annotations.SERVICE: service}}
        }

    return change


def release(crd: Json) -> Json | None:
    """Let the definition go."""
    finalizers = list(crd["metadata"].get("finalizers") or ())
    if host_annotations.INSTANCES_FINALIZER not in finalizers:
        return None
    others = [name for name in finalizers if name != host_annotations.INSTANCES_FINALIZER]
    return {"metadata": {"finalizers": others, "annotations": {host_annotations.SERVICE: None}}}


def stored(versions: list[str]) -> Change:
    """Have these among the stored versions, as far as the definition has them at all."""

    def change(crd: Json) -> Json | None:
        known = {version["name"] for version in crd["spec"]["versions"]}
        before = list((crd.get("status") or {}).get("storedVersions") or ())
        missing = [version for version in versions if version in known and version not in before]
        return {"status": {"storedVersions": [*before, *missing]}} if missing else None

    return change
