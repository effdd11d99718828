"""A group on its way back to the host."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from apiext.meta import host_annotations
from apiext.operator.adoption.reconcile import take
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.reporting.reporter import Reason
from tests.unit.operator.adoption.test_takeover import OBJECTS, Writer, adopted, filled, stopped_anywhere
from tests.unit.operator.adoption.world import Stopped, World

Make = Callable[..., World]


async def served(make: Make, *names: str) -> World:
    """A world whose group is apiext's, where it has changed since."""
    world = filled(make, *names)
    await take(world.way())
    world.write("ns0/o00", None)
    world.write("ns0/o03", {"n": 99})
    world.write("ns9/new", {"n": 1})
    return world


def unlabel(world: World, plural: str = "widgets") -> None:
    """Ask for the group back."""
    world.crd(plural)["metadata"]["labels"] = {}


async def asked_back(world: World) -> None:
    """A group that is apiext's, and is asked for again."""
    await take(world.way())
    unlabel(world)


def handed_over(world: World) -> None:
    """The group is the host's, wholly, as if it had never been elsewhere."""
    assert world.routed == {"v1": False}
    assert world.phase() in {None, host_annotations.IMPORTING}
    assert world.objects["widgets.example.com"] == {}
    assert not world.bites
    assert not world.crd()["metadata"].get("finalizers")
    assert world.said[-1][0] is Reason.HANDED_OVER


async def test_hand_over(world: Make) -> None:
    """The host's etcd gets what has changed, the host serves, and nothing of apiext is left on it."""
    one = await served(world)
    expected = one.at_apiext()
    writes = one.backend.calls["write"]
    unlabel(one)

    assert (await take(one.way())).routing is Routing.HOST

    handed_over(one)
    assert one.at_host() == expected
    assert one.phase() is None
    assert one.backend.calls["write"] == writes + 3


async def test_hand_over_by_annotation(world: Make) -> None:
    """The annotation asks for it, too, and as long as it is there the group stays with the host."""
    one = await served(world)
    one.crd()["metadata"]["annotations"] = {host_annotations.HAND_OVER: host_annotations.HAND_OVER_VALUE}

    await take(one.way())
    said = list(one.said)
    await take(one.way())

    handed_over(one)
    assert one.said == said


async def test_interrupted_anywhere(world: Make) -> None:
    """Wherever the operator is ended, another one goes on, and every write that was acknowledged is there at the end."""
    async for one, writer, stopped in stopped_anywhere(world, asked_back):
        if stopped:
            await take(one.way())
        handed_over(one)
        assert one.at_host() == writer.held


async def test_wanted_back_anywhere(world: Make) -> None:
    """Wherever a hand-over is when nobody wants it any more, the group is apiext's again, with every write."""
    async for one, writer, stopped in stopped_anywhere(world, asked_back):
        if stopped:
            one.crd()["metadata"]["labels"] = {host_annotations.SERVE_LABEL: host_annotations.SERVE_VALUE}
            await take(one.way())
            adopted(one)
            assert one.at_apiext() == writer.held


async def test_the_way_back_from_an_adoption(world: Make) -> None:
    """Wherever an adoption is when nobody wants it any more, the host has what clients have written, and nobody noticed."""
    for stops in range(1, 25):
        one = filled(world)
        writer = Writer(one)
        one.stop_at = stops
        with pytest.raises(Stopped):
            await take(one.way())
        unlabel(one)
        one.stop_at = 0
        held = bool(one.crd()["metadata"].get("finalizers"))

        await take(one.way())

        assert one.at_host() == writer.held
        if held:
            handed_over(one)
        assert not one.bites
        assert one.phase() is None


async def test_turned_back_while_copying(world: Make) -> None:
    """An adoption ends by itself when the label is taken away before apiext has begun to serve."""
    one = filled(world)

    def unlabelled() -> None:
        if one.bites:
            unlabel(one)

    one.meanwhile = unlabelled
    await take(one.way())

    handed_over(one)
    assert one.at_host() == OBJECTS
    assert Reason.SERVING not in [reason for reason, _ in one.said]


async def test_without_etcd(world: Make) -> None:
    """Without the host's etcd a group goes back only if nothing has changed, else it is said what to do."""
    one = await served(world)
    one.host_etcd = None
    unlabel(one)

    desired = await take(one.way())

    assert (desired.routing, one.phase(), one.routed) == (Routing.APIEXT, host_annotations.SERVING, {"v1": True})
    reason, message = one.said[-1]
    assert reason is Reason.HAND_OVER_BLOCKED
    assert "start the operator with --host-etcd-servers" in message


async def test_without_etcd_and_changes(world: Make) -> None:
    """What nobody has changed can be given back without the host's etcd."""
    one = filled(world)
    await take(one.way())
    one.host_etcd = None
    unlabel(one)

    await take(one.way())

    handed_over(one)
    assert one.at_host() == OBJECTS


async def test_a_definition_that_is_not_selected_comes(world: Make) -> None:
    """A group that is not wholly selected any more goes back."""
    one = await served(world)
    expected = one.at_apiext()
    one.define("gadgets", labels={})

    await take(one.way())

    handed_over(one)
    assert one.at_host() == expected
    await take(one.way())
    assert one.said[-1][0] is Reason.BLOCKED


async def test_another_cluster_s_etcd(world: Make) -> None:
    """An etcd that does not have the host's definition is not written to."""
    one = await served(world)
    before = one.at_host()
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"
    one._put(key, {"metadata": {"name": "widgets.example.com", "uid": "of-another-cluster"}})
    unlabel(one)

    with pytest.raises(ApiError, match="is another cluster's, or encrypted"):
        await take(one.way())

    assert (one.phase(), one.at_host()) == (host_annotations.SERVING, before)


async def test_encrypted_objects(world: Make) -> None:
    """Objects that the host encrypts cannot be compared, and nothing is overwritten."""
    one = await served(world)
    unlabel(one)
    pair = one.backend._state["/registry/example.com/widgets/ns0/o03"]
    await one.backend.update(pair.key, b"k8s:enc:aescbc:v1:key1:...", expected=pair.revision)

    with pytest.raises(ApiError, match="the host encrypts what it stores of widgets"):
        await take(one.way())

    assert one.routed == {"v1": True}


async def test_the_host_does_not_show_its_objects(world: Make) -> None:
    """A host that does not show what is in its etcd does not get the group: apiext serves again, and says so."""
    one = await served(world)
    expected = one.at_apiext()
    unlabel(one)

    def hide() -> None:
        if not one.routed["v1"]:
            one.write_at_host("ns9/new", None)

    one.meanwhile = hide
    with pytest.raises(ApiError, match="apiext serves the group again"):
        await take(one.way())

    assert (one.phase(), one.routed, one.at_apiext()) == (host_annotations.SERVING, {"v1": True}, expected)


@pytest.mark.parametrize("etcd", [True, False])
async def test_definition_being_deleted(world: Make, etcd: bool) -> None:  # noqa: FBT001
    """When apiext is done with the objects, the host's own copies do not keep their definition, whatever finalizers they have."""
    one = filled(world)
    one.write_at_host("ns0/kept", {"finalizers": ["example.com/x"]})
    await take(one.way())
    if not etcd:
        one.host_etcd = None
    crd: Any = one.crd()
    crd["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    desired = await take(one.way())
    assert (desired.routing, desired.after) == (Routing.APIEXT, 2.0)
    for key in OBJECTS:
        one.write_at_host(key, None)
    del one.mirrors["widgets.example.com"]

    await take(one.way())

    assert one.at_host() == {}
    assert etcd or not one.bites


@pytest.mark.parametrize("etcd", [True, False])
async def test_definition_deleted_while_it_is_copied(world: Make, etcd: bool) -> None:  # noqa: FBT001
    """Wherever an adoption is, what the host still serves goes as the host has it go: finalizers are those of the real objects."""
    for stops in range(1, 60):
        one = filled(world)
        one.write_at_host("ns0/kept", {"finalizers": ["example.com/x"]})
        if not etcd:
            one.host_etcd = None
        one.stop_at = stops
        with suppress(Stopped):
            await take(one.way())
        one.stop_at = 0
        if one.routed["v1"] or not one.crd()["metadata"].get("finalizers"):
            continue
        one.crd()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

        await take(one.way())

        assert one.phase() is None
        assert not one.bites
        assert one.at_host()["ns0/kept"] == {"finalizers": ["example.com/x"]}
        assert one.routed == {"v1": False}


async def test_interrupted_while_a_definition_is_deleted(world: Make) -> None:
    """Wherever the operator is ended, another one goes on, with or without the host's etcd."""
    for number in range(80):
        one = filled(world)
        one.write_at_host("ns0/kept", {"finalizers": ["example.com/x"]})
        await take(one.way())
        one.host_etcd = one.host_etcd if number % 2 else None
        one.crd()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        for key in OBJECTS:
            one.write_at_host(key, None)
        del one.mirrors["widgets.example.com"]
        one.calls, one.stop_at = 0, number // 2 + 1
        with suppress(Stopped):
            await take(one.way())
        one.stop_at = 0
        await take(one.way())

        assert one.at_host() == {}
        assert not one.bites


async def test_no_version_to_read(world: Make) -> None:
    """Objects that cannot be read are not given back half: it is said what to do."""
    one = await served(world)
    unlabel(one)
    one.crd()["spec"]["versions"] = [{**version, "served": False} for version in one.crd()["spec"]["versions"]]

    await take(one.way())

    assert (one.phase(), one.said[-1][0]) == (host_annotations.SERVING, Reason.HAND_OVER_BLOCKED)
    assert "has no version that is served" in one.said[-1][1]
