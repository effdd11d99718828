"""What is written to definitions of the host."""

from typing import Any

import pytest

from apiext.meta import host_annotations
from apiext.operator import host_definitions
from apiext.operator.api_clients import CRDS, ApiError
from apiext.operator.reporting.reporter import Reason
from tests.support.servers.memory_api import MemoryApi, merged
from tests.unit.operator.parts import crd

PATH = f"{CRDS}/widgets.example.com"


def test_condition() -> None:
    """It stands beside the others; its time changes with its status alone; the same again is no change."""
    established = {"type": "Established", "status": "True"}
    found = crd() | {"status": {"conditions": [established]}}

    patch = host_definitions.condition(Reason.ADOPTING, "copied 1 of 2")(found)
    assert patch is not None
    found = merged(found, patch)
    said = dict(host_definitions.condition_of(found) or {})
    assert found["status"]["conditions"][0] == established
    assert (said["type"], said["status"], said["reason"], said["message"]) == ("ServedByApiext", "False", "Adopting", "copied 1 of 2")
    assert host_definitions.condition(Reason.ADOPTING, "copied 1 of 2")(found) is None

    found["status"]["conditions"][1]["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    blocked = merged(found, host_definitions.condition(Reason.BLOCKED, "x")(found))
    serving = merged(found, host_definitions.condition(Reason.SERVING, "y")(found))
    assert (host_definitions.condition_of(blocked) or {})["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert (host_definitions.condition_of(serving) or {})["lastTransitionTime"] != "2020-01-01T00:00:00Z"
    assert (host_definitions.condition_of(serving) or {})["status"] == "True"
    kept = merged(serving, host_definitions.condition(Reason.HAND_OVER_BLOCKED, "z")(serving))
    assert (host_definitions.condition_of(kept) or {})["status"] == "True"


def test_finalizer() -> None:
    """It is put beside those of others, not on what is being deleted, and taken away alone."""
    found = crd(finalizers=["a"])
    held = merged(found, host_definitions.hold("a/b")(found))

    assert held["metadata"]["finalizers"] == ["a", host_annotations.INSTANCES_FINALIZER]
    assert held["metadata"]["annotations"][host_annotations.SERVICE] == "a/b"
    assert host_definitions.hold("a/b")(held) is None
    assert host_definitions.hold("a/b")(crd(deletionTimestamp="now")) is None
    assert merged(held, host_definitions.release(held))["metadata"]["finalizers"] == ["a"]
    with pytest.raises(ApiError, match="is with the apiext behind Service a/b"):
        host_definitions.hold("c/d")(held)
    assert host_annotations.SERVICE not in merged(held, host_definitions.release(held))["metadata"]["annotations"]
    assert host_definitions.release(found) is None


@pytest.mark.parametrize(
    "before,there,after",
    [(["v1"], ["v1"], None), (["v1"], ["v2"], ["v1", "v2"]), (["v1", "v2"], ["v1"], None), (["v1"], ["v9"], None), ([], ["v1"], ["v1"])],
)
def test_stored_versions(before: list[str], there: list[str], after: list[str] | None) -> None:
    """Those of the host become no fewer than those of the mirror; what the definition does not have is left out."""
    found = crd("v1", "v2") | {"status": {"storedVersions": before}}
    patch = host_definitions.stored(there)(found)

    assert (patch["status"]["storedVersions"] if patch else None) == after


async def test_conflicts_are_decided_anew() -> None:
    """Somebody else's change in between is kept, and the change is made to what has become of the object."""
    host = MemoryApi()
    known = host.put_in(PATH, crd())
    host.put_in(PATH, crd(finalizers=["b"]))

    after = await host_definitions.amend(host, known, host_definitions.hold("a/b"))

    assert after is not None
    assert host.objects[PATH]["metadata"]["finalizers"] == ["b", host_annotations.INSTANCES_FINALIZER]


async def test_what_is_not_there_any_more() -> None:
    """A definition that has gone, or another one in its place, is not written."""
    host = MemoryApi()
    known = host.put_in(PATH, crd())
    del host.objects[PATH]
    assert await host_definitions.amend(host, known, host_definitions.hold("a/b")) is None

    other = host.put_in(PATH, crd(uid="another"))
    assert (
        await host_definitions.amend(host, known | {"metadata": known["metadata"] | {"resourceVersion": "1"}}, host_definitions.hold("a/b"))
        is None
    )
    assert host.objects[PATH] == other


async def test_failures_are_told() -> None:
    """What the host refuses for good is an error; what needs no change is not asked."""
    host = MemoryApi()
    known: dict[str, Any] = host.put_in(PATH, crd())
    host.refused["PATCH", PATH] = ApiError("forbidden", code=403)

    with pytest.raises(ApiError, match="forbidden"):
        await host_definitions.amend(host, known, host_definitions.hold("a/b"))
    assert await host_definitions.amend(host, known, lambda _: None) is known
