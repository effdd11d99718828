"""Changes of definitions of the host."""

from typing import Any

import pytest

from apiext.base.meta import host_annotations
from apiext.base.meta.patch import merge_patch
from apiext.operator import host_definitions
from apiext.operator.api_clients import CRDS, ApiError
from apiext.operator.group_state import condition_of
from apiext.operator.host_definitions import ConditionReason
from tests.support.servers.memory_api import MemoryApi
from tests.unit.operator.parts import crd

PATH = f"{CRDS}/widgets.example.com"


def test_sets_the_condition() -> None:
    """Keep other conditions, change the time only with the status, and write no equal condition."""
    established = {"type": "Established", "status": "True"}
    found = crd() | {"status": {"conditions": [established]}}

    patch = host_definitions.condition(ConditionReason.ADOPTING, "copied 1 of 2")(found)
    assert patch is not None
    found = merge_patch(found, patch)
    said = condition_of(found, host_annotations.CONDITION)
    assert found["status"]["conditions"][0] == established
    assert (said["type"], said["status"], said["reason"], said["message"]) == ("ServedByApiext", "False", "Adopting", "copied 1 of 2")
    assert host_definitions.condition(ConditionReason.ADOPTING, "copied 1 of 2")(found) is None

    found["status"]["conditions"][1]["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    blocked = merge_patch(found, host_definitions.condition(ConditionReason.BLOCKED, "x")(found))
    serving = merge_patch(found, host_definitions.condition(ConditionReason.SERVING, "y")(found))
    assert condition_of(blocked, host_annotations.CONDITION)["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert condition_of(serving, host_annotations.CONDITION)["lastTransitionTime"] != "2020-01-01T00:00:00Z"
    assert condition_of(serving, host_annotations.CONDITION)["status"] == "True"
    kept = merge_patch(serving, host_definitions.condition(ConditionReason.HAND_OVER_BLOCKED, "z")(serving))
    assert condition_of(kept, host_annotations.CONDITION)["status"] == "True"


def test_adds_and_removes_the_finalizer() -> None:
    """Keep other finalizers, and add none to a terminating definition."""
    found = crd(finalizers=["a"])
    held = merge_patch(found, host_definitions.add_finalizer("a/b")(found))

    assert held["metadata"]["finalizers"] == ["a", host_annotations.INSTANCES_FINALIZER]
    assert held["metadata"]["annotations"][host_annotations.SERVICE] == "a/b"
    assert host_definitions.add_finalizer("a/b")(held) is None
    assert host_definitions.add_finalizer("a/b")(crd(deletionTimestamp="now")) is None
    assert merge_patch(held, host_definitions.remove_finalizer(held))["metadata"]["finalizers"] == ["a"]
    with pytest.raises(ApiError, match="belongs to the apiext behind Service a/b"):
        host_definitions.add_finalizer("c/d")(held)
    assert host_annotations.SERVICE not in merge_patch(held, host_definitions.remove_finalizer(held))["metadata"]["annotations"]
    assert host_definitions.remove_finalizer(found) is None


@pytest.mark.parametrize(
    "before,there,after",
    [(["v1"], ["v1"], None), (["v1"], ["v2"], ["v1", "v2"]), (["v1", "v2"], ["v1"], None), (["v1"], ["v9"], None), ([], ["v1"], ["v1"])],
)
def test_copies_stored_versions(before: list[str], there: list[str], after: list[str] | None) -> None:
    """Add the mirror's stored versions that the definition has, and remove none."""
    found = crd("v1", "v2") | {"status": {"storedVersions": before}}
    patch = host_definitions.add_stored_versions(there)(found)

    assert (patch["status"]["storedVersions"] if patch else None) == after


async def test_repeats_the_change_after_a_conflict() -> None:
    """Keep a concurrent change, and change the new state."""
    host = MemoryApi()
    known = host.put_in(PATH, crd())
    host.put_in(PATH, crd(finalizers=["b"]))

    after = await host_definitions.amend(host, known, host_definitions.add_finalizer("a/b"))

    assert after is not None
    assert host.objects[PATH]["metadata"]["finalizers"] == ["b", host_annotations.INSTANCES_FINALIZER]


async def test_ignores_deleted_definitions() -> None:
    """Write neither to a deleted definition nor to a new one of its name."""
    host = MemoryApi()
    known = host.put_in(PATH, crd())
    del host.objects[PATH]
    assert await host_definitions.amend(host, known, host_definitions.add_finalizer("a/b")) is None

    other = host.put_in(PATH, crd(uid="another"))
    assert (
        await host_definitions.amend(
            host, known | {"metadata": known["metadata"] | {"resourceVersion": "1"}}, host_definitions.add_finalizer("a/b")
        )
        is None
    )
    assert host.objects[PATH] == other


async def test_raises_permanent_errors() -> None:
    """Raise a permanent error, and send no request without a change."""
    host = MemoryApi()
    known: dict[str, Any] = host.put_in(PATH, crd())
    host.refused["PATCH", PATH] = ApiError("forbidden", code=403)

    with pytest.raises(ApiError, match="forbidden"):
        await host_definitions.amend(host, known, host_definitions.add_finalizer("a/b"))
    assert await host_definitions.amend(host, known, lambda _: None) is known
