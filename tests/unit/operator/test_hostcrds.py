"""What is written to definitions of the host."""

from typing import Any

import pytest

from apiext.meta import marks
from apiext.operator import hostcrds
from apiext.operator.clients import CRDS, ApiError
from apiext.operator.report import Reason
from tests.support.memory_api import MemoryApi, merged
from tests.unit.operator.parts import crd

PATH = f"{CRDS}/widgets.example.com"


def test_condition() -> None:
    """It stands beside the others; its time changes with its status alone; the same again is no change."""
    established = {"type": "Established", "status": "True"}
    found = crd() | {"status": {"conditions": [established]}}

    patch = hostcrds.condition(Reason.ADOPTING, "copied 1 of 2")(found)
    assert patch is not None
    found = merged(found, patch)
    said = dict(hostcrds.condition_of(found) or {})
    assert found["status"]["conditions"][0] == established
    assert (said["type"], said["status"], said["reason"], said["message"]) == ("ServedByApiext", "False", "Adopting", "copied 1 of 2")
    assert hostcrds.condition(Reason.ADOPTING, "copied 1 of 2")(found) is None

    found["status"]["conditions"][1]["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    blocked = merged(found, hostcrds.condition(Reason.BLOCKED, "x")(found))
    serving = merged(found, hostcrds.condition(Reason.SERVING, "y")(found))
    assert (hostcrds.condition_of(blocked) or {})["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert (hostcrds.condition_of(serving) or {})["lastTransitionTime"] != "2020-01-01T00:00:00Z"
    assert (hostcrds.condition_of(serving) or {})["status"] == "True"
    kept = merged(serving, hostcrds.condition(Reason.HAND_OVER_BLOCKED, "z")(serving))
    assert (hostcrds.condition_of(kept) or {})["status"] == "True"


def test_finalizer() -> None:
    """It is put beside those of others, not on what is being deleted, and taken away alone."""
    found = crd(finalizers=["a"])
    held = merged(found, hostcrds.hold("a/b")(found))

    assert held["metadata"]["finalizers"] == ["a", marks.INSTANCES_FINALIZER]
    assert held["metadata"]["annotations"][marks.SERVICE] == "a/b"
    assert hostcrds.hold("a/b")(held) is None
    assert hostcrds.hold("a/b")(crd(deletionTimestamp="now")) is None
    assert merged(held, hostcrds.release(held))["metadata"]["finalizers"] == ["a"]
    with pytest.raises(ApiError, match="is with the apiext behind Service a/b"):
        hostcrds.hold("c/d")(held)
    assert marks.SERVICE not in merged(held, hostcrds.release(held))["metadata"]["annotations"]
    assert hostcrds.release(found) is None


@pytest.mark.parametrize(
    "before,there,after",
    [(["v1"], ["v1"], None), (["v1"], ["v2"], ["v1", "v2"]), (["v1", "v2"], ["v1"], None), (["v1"], ["v9"], None), ([], ["v1"], ["v1"])],
)
def test_stored_versions(before: list[str], there: list[str], after: list[str] | None) -> None:
    """Those of the host become no fewer than those of the mirror; what the definition does not have is left out."""
    found = crd("v1", "v2") | {"status": {"storedVersions": before}}
    patch = hostcrds.stored(there)(found)

    assert (patch["status"]["storedVersions"] if patch else None) == after


async def test_conflicts_are_decided_anew() -> None:
    """Somebody else's change in between is kept, and the change is made to what has become of the object."""
    host = MemoryApi()
    known = host.put_in(PATH, crd())
    host.put_in(PATH, crd(finalizers=["b"]))

    after = await hostcrds.amend(host, known, hostcrds.hold("a/b"))

    assert after is not None
    assert host.objects[PATH]["metadata"]["finalizers"] == ["b", marks.INSTANCES_FINALIZER]


async def test_what_is_not_there_any_more() -> None:
    """A definition that has gone, or another one in its place, is not written."""
    host = MemoryApi()
    known = host.put_in(PATH, crd())
    del host.objects[PATH]
    assert await hostcrds.amend(host, known, hostcrds.hold("a/b")) is None

    other = host.put_in(PATH, crd(uid="another"))
    assert await hostcrds.amend(host, known | {"metadata": known["metadata"] | {"resourceVersion": "1"}}, hostcrds.hold("a/b")) is None
    assert host.objects[PATH] == other


async def test_failures_are_told() -> None:
    """What the host refuses for good is an error; what needs no change is not asked."""
    host = MemoryApi()
    known: dict[str, Any] = host.put_in(PATH, crd())
    host.refused["PATCH", PATH] = ApiError("forbidden", code=403)

    with pytest.raises(ApiError, match="forbidden"):
        await hostcrds.amend(host, known, hostcrds.hold("a/b"))
    assert await hostcrds.amend(host, known, lambda _: None) is known
