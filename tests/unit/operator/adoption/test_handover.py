"""The hand-over of a group to the host."""

import copy
import json
from collections.abc import Callable

import pytest

from apiext.base.meta import host_annotations
from apiext.operator.adoption.reconcile import reconcile_group
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing, condition_of
from apiext.operator.host_definitions import ConditionReason
from tests.unit.operator.adoption.test_takeover import OBJECTS, Writer, assert_adopted, filled, interrupted_worlds
from tests.unit.operator.adoption.world import Stopped, World

Make = Callable[..., World]


async def served(make: Make, *names: str) -> World:
    """Return a world whose group is served by apiext, with changes since the take-over."""
    world = filled(make, *names)
    await reconcile_group(world.transition())
    world.write("ns0/o00", None)
    world.write("ns0/o03", {"n": 99})
    world.write("ns9/new", {"n": 1})
    return world


@pytest.fixture
async def one(world: Make) -> World:
    """Return a world whose group is served by apiext, with changes since the take-over."""
    return await served(world)


def unlabel(world: World, plural: str = "widgets") -> None:
    """Request the hand-over by removing the label."""
    world.crd(plural)["metadata"]["labels"] = {}


async def handed_over_world(world: World) -> None:
    """Return a world with a requested hand-over."""
    await reconcile_group(world.transition())
    unlabel(world)


def assert_handed_over(world: World) -> None:
    """Assert that the host serves the group, and nothing of apiext is left."""
    assert world.routed == {"v1": False}
    assert world.phase() in {None, host_annotations.IMPORTING}
    assert world.objects["widgets.example.com"] == {}
    assert not world.denies_writes
    assert not world.crd()["metadata"].get("finalizers")
    assert world.said[-1][0] is ConditionReason.HANDED_OVER


async def test_writes_changes_to_the_hosts_etcd(one: World) -> None:
    """Write what changed to the host's etcd, let the host serve, and leave nothing of apiext on it."""
    expected = one.at_apiext()
    writes = one.backend.calls["write"]
    unlabel(one)

    assert (await reconcile_group(one.transition())).routing is Routing.HOST

    assert_handed_over(one)
    assert one.at_host() == expected
    assert one.phase() is None
    assert one.backend.calls["write"] == writes + 3


async def test_hands_over_on_annotation(one: World) -> None:
    """Hand over on the annotation too, and keep the group with the host while the annotation is set."""
    one.crd()["metadata"]["annotations"] = {host_annotations.HAND_OVER: host_annotations.HAND_OVER_VALUE}

    await reconcile_group(one.transition())
    said = list(one.said)
    await reconcile_group(one.transition())

    assert_handed_over(one)
    assert one.said == said


async def test_continues_after_any_interruption(world: Make) -> None:
    """Finish the hand-over with every acknowledged write, wherever the first operator was interrupted."""
    async for one, writer, stopped in interrupted_worlds(world, handed_over_world):
        if stopped:
            await reconcile_group(one.transition())
        assert_handed_over(one)
        assert one.at_host() == writer.held


async def test_returns_to_apiext_from_any_step(world: Make) -> None:
    """Let apiext serve again with every write, at whichever step the hand-over is withdrawn."""
    async for one, writer, stopped in interrupted_worlds(world, handed_over_world):
        if stopped:
            one.crd()["metadata"]["labels"] = {host_annotations.SERVE_LABEL: host_annotations.SERVE_VALUE}
            await reconcile_group(one.transition())
            assert_adopted(one)
            assert one.at_apiext() == writer.held


async def test_aborts_a_take_over_at_any_step(world: Make) -> None:
    """Keep every write of clients at the host, at whichever step the take-over is withdrawn."""
    for stops in range(1, 25):
        one = filled(world)
        writer = Writer(one)
        one.stop_at = stops
        with pytest.raises(Stopped):
            await reconcile_group(one.transition())
        unlabel(one)
        one.stop_at = 0
        held = bool(one.crd()["metadata"].get("finalizers"))

        await reconcile_group(one.transition())

        assert one.at_host() == writer.held
        if held:
            assert_handed_over(one)
        assert not one.denies_writes
        assert one.phase() is None


async def test_aborts_while_copying(world: Make) -> None:
    """End a take-over by itself when the label is removed before apiext serves."""
    one = filled(world)

    def unlabelled() -> None:
        if one.denies_writes:
            unlabel(one)

    one.meanwhile = unlabelled
    await reconcile_group(one.transition())

    assert_handed_over(one)
    assert one.at_host() == OBJECTS
    assert ConditionReason.SERVING not in [reason for reason, _ in one.said]


async def test_blocks_without_etcd_after_changes(one: World) -> None:
    """Hand over without the host's etcd only if nothing changed, and else report the remedy."""
    one.host_etcd = None
    unlabel(one)

    desired = await reconcile_group(one.transition())

    assert (desired.routing, one.phase(), one.routed) == (Routing.APIEXT, host_annotations.SERVING, {"v1": True})
    reason, message = one.said[-1]
    assert reason is ConditionReason.HAND_OVER_BLOCKED
    assert "start the operator with --host-etcd-servers" in message


@pytest.mark.parametrize("etcd", [True, False])
async def test_takes_a_replaced_definition_for_the_request(one: World, etcd: bool) -> None:  # noqa: FBT001
    """Take the lost label of a replaced definition, whose finalizer is gone too, for the request; set the condition on it in any case."""
    one.host_etcd = one.host_etcd if etcd else None
    one.crd()["metadata"] |= {"labels": {}, "finalizers": [], "annotations": {}}

    await reconcile_group(one.transition())

    found = condition_of(one.crd(), host_annotations.CONDITION)
    assert (found["status"], found["reason"]) == (("False", "HandedOver") if etcd else ("True", "HandOverBlocked"))
    assert one.routed["v1"] is not etcd


async def test_reports_the_end_of_an_aborted_take_over(world: Make) -> None:
    """Replace a condition from before the label was removed, also where nothing had begun."""
    one = filled(world)
    one.crd()["status"]["conditions"] = []
    await reconcile_group(one.transition())
    assert condition_of(one.crd(), host_annotations.CONDITION)["reason"] == "Blocked"

    unlabel(one)
    assert (await reconcile_group(one.transition())).routing is Routing.HOST

    assert condition_of(one.crd(), host_annotations.CONDITION)["reason"] == "HandedOver"


async def test_keeps_objects_of_an_earlier_definition(one: World) -> None:
    """Leave the mirror of an earlier definition of that name alone: a new definition without the label is no request."""
    one.crd()["metadata"] |= {"uid": "another", "labels": {}, "finalizers": []}
    before = one.at_apiext()

    assert (await reconcile_group(one.transition())).routing is Routing.AS_IT_IS

    assert one.at_apiext() == before


async def test_hands_over_unchanged_objects_without_etcd(world: Make) -> None:
    """Hand over unchanged objects without the host's etcd."""
    one = filled(world)
    await reconcile_group(one.transition())
    one.host_etcd = None
    unlabel(one)

    await reconcile_group(one.transition())

    assert_handed_over(one)
    assert one.at_host() == OBJECTS


async def test_hands_over_when_a_definition_is_not_selected(one: World) -> None:
    """Hand over a group that gets a definition without the label."""
    expected = one.at_apiext()
    one.define("gadgets", labels={})

    await reconcile_group(one.transition())

    assert_handed_over(one)
    assert one.at_host() == expected
    await reconcile_group(one.transition())
    assert one.said[-1][0] is ConditionReason.BLOCKED


async def test_rejects_the_etcd_of_another_cluster(one: World) -> None:
    """Write nothing to an etcd without the host's definition."""
    before = one.at_host()
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"
    one.put(key, {"metadata": {"name": "widgets.example.com", "uid": "of-another-cluster"}})
    unlabel(one)

    with pytest.raises(ApiError, match="it is another cluster's"):
        await reconcile_group(one.transition())

    assert (one.phase(), one.at_host()) == (host_annotations.SERVING, before)


async def test_rejects_encrypted_objects(one: World) -> None:
    """Overwrite nothing if the host's objects are encrypted, because they cannot be compared."""
    unlabel(one)
    pair = one.backend.state["/registry/example.com/widgets/ns0/o03"]
    await one.backend.update(pair.key, b"k8s:enc:aescbc:v1:key1:...", expected=pair.revision)

    with pytest.raises(ApiError, match="the host encrypts what it stores of widgets"):
        await reconcile_group(one.transition())

    assert one.routed == {"v1": True}


async def test_serves_again_if_objects_cannot_be_read(one: World) -> None:
    """Let clients write again if apiext cannot show the objects, and finish the hand-over when it can."""
    expected = one.at_apiext()
    unlabel(one)
    one.inconvertible = {"v1"}
    with pytest.raises(ApiError, match="webhook failed; apiext goes on serving the group"):
        await reconcile_group(one.transition())
    assert (one.phase(), one.routed) == (host_annotations.SERVING, {"v1": True})

    one.inconvertible = set()
    await reconcile_group(one.transition())
    assert_handed_over(one)
    assert one.at_host() == expected


async def test_serves_again_if_the_host_lists_other_objects(one: World) -> None:
    """Let apiext serve again, and report it, if the host does not list the objects of its etcd."""
    expected = one.at_apiext()
    unlabel(one)

    def hide() -> None:
        if not one.routed["v1"]:
            one.write_at_host("ns9/new", None)

    one.meanwhile = hide
    with pytest.raises(ApiError, match="apiext serves the group again"):
        await reconcile_group(one.transition())

    assert (one.phase(), one.routed, one.at_apiext()) == (host_annotations.SERVING, {"v1": True}, expected)


def drop_version(world: World, version: str = "v0") -> None:
    """Remove a version from the host's definition, as after a migration."""
    crd = world.crd()
    crd["spec"]["versions"] = [one for one in crd["spec"]["versions"] if one["name"] != version]
    crd["status"]["storedVersions"] = ["v1"]


async def served_with_old_copies(make: Make) -> World:
    """Return a world whose group is served by apiext, while the host's copies are stored in an older version."""
    world = make()
    crd = world.crd()
    crd["spec"]["versions"].append(crd["spec"]["versions"][0] | {"name": "v0", "served": False, "storage": False})
    crd["status"]["storedVersions"] = ["v0", "v1"]
    for key, spec in OBJECTS.items():
        world.write_at_host(key, spec, version="v0")
    await reconcile_group(world.transition())
    return world


async def test_replaces_copies_in_a_dropped_version(world: Make) -> None:
    """Write every object to the host's etcd that is stored there in a version that the definition does not have any more."""
    one = await served_with_old_copies(world)
    drop_version(one)
    unlabel(one)

    await reconcile_group(one.transition())

    assert_handed_over(one)
    assert one.at_host() == OBJECTS
    versions = [json.loads(pair.value).get("apiVersion") for key, pair in one.backend.state.items() if "/widgets/" in key]
    assert set(versions) == {"example.com/v1"}


async def test_blocks_without_etcd_after_a_version_was_dropped(world: Make) -> None:
    """Report the remedy if the host could not decode its unchanged copies; otherwise list their versions in its definition again."""
    one = await served_with_old_copies(world)
    one.host_etcd = None
    one.crd()["status"]["storedVersions"] = ["v1"]
    before = copy.deepcopy(one.crd()["spec"]["versions"])
    drop_version(one)
    unlabel(one)
    await reconcile_group(one.transition())
    reason, message = one.said[-1]
    assert (reason, one.routed) == (ConditionReason.HAND_OVER_BLOCKED, {"v1": True})
    assert "may be stored in a version that the definition does not have any more" in message

    one.crd()["spec"]["versions"] = before
    await reconcile_group(one.transition())

    assert_handed_over(one)
    assert one.at_host() == OBJECTS
    assert one.crd()["status"]["storedVersions"] == ["v1", "v0"]


async def test_blocks_without_a_served_version(one: World) -> None:
    """Report the remedy, and hand over nothing, if the objects cannot be read."""
    unlabel(one)
    one.crd()["spec"]["versions"] = [{**version, "served": False} for version in one.crd()["spec"]["versions"]]

    await reconcile_group(one.transition())

    assert (one.phase(), one.said[-1][0]) == (host_annotations.SERVING, ConditionReason.HAND_OVER_BLOCKED)
    assert "has no served version" in one.said[-1][1]
