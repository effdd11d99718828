"""Definitions that are deleted on the host while apiext holds their objects."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from apiext.operator.adoption.reconcile import reconcile_group
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from tests.unit.operator.adoption.test_handover import drop_version, served_with_old_copies
from tests.unit.operator.adoption.test_takeover import OBJECTS, filled
from tests.unit.operator.adoption.world import Stopped, World

Make = Callable[..., World]


async def deleted(make: Make, *, etcd: bool) -> World:
    """Return a world that apiext serves, whose definition is being deleted while the host has one copy left."""
    world = filled(make)
    world.write_at_host("ns0/kept", {"finalizers": ["example.com/x"]})
    await reconcile_group(world.transition())
    world.host_etcd = world.host_etcd if etcd else None
    world.crd()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    for key in OBJECTS:
        world.write_at_host(key, None)
    return world


@pytest.mark.parametrize("etcd", [True, False])
async def test_clears_copies_in_a_dropped_version(world: Make, etcd: bool) -> None:  # noqa: FBT001
    """Let the host delete copies that it could not decode: remove them from its etcd, or add their version to its definition."""
    one = await served_with_old_copies(world)
    drop_version(one)
    if not etcd:
        one.host_etcd = None
    one.crd()["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {}}
    one.crd()["metadata"]["finalizers"].append("customresourcecleanup.apiextensions.k8s.io")
    one.crd()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    del one.mirrors["widgets.example.com"]

    desired = await reconcile_group(one.transition())

    assert desired.routing is Routing.HOST
    if etcd:
        assert one.at_host() == {}
    else:
        versions = [(version["name"], version["served"]) for version in one.crd()["spec"]["versions"]]
        assert one.crd()["spec"]["conversion"] == {"strategy": "None"}
        assert versions == [("v1", True), ("apiext-cleanup", True), ("v0", False)]


@pytest.mark.parametrize("etcd", [True, False])
async def test_clears_the_hosts_copies_of_a_deleted_definition(world: Make, etcd: bool) -> None:  # noqa: FBT001
    """Delete the host's own copies, whatever their finalizers, when apiext has deleted the objects."""
    one = filled(world)
    one.write_at_host("ns0/kept", {"finalizers": ["example.com/x"]})
    await reconcile_group(one.transition())
    if not etcd:
        one.host_etcd = None
    crd: Any = one.crd()
    crd["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    desired = await reconcile_group(one.transition())
    assert (desired.routing, desired.after) == (Routing.APIEXT, 2.0)
    for key in OBJECTS:
        one.write_at_host(key, None)
    del one.mirrors["widgets.example.com"]

    await reconcile_group(one.transition())

    assert one.at_host() == {}
    assert etcd or not one.denies_writes
    assert not one.has_crd()


@pytest.mark.parametrize("etcd", [True, False])
async def test_clears_the_hosts_copies_whenever_the_mirror_goes(world: Make, etcd: bool) -> None:  # noqa: FBT001
    """Release a definition only after its copies are cleared, at whichever step its mirror turns out to be gone."""
    for steps in range(1, 25):
        one = await deleted(world, etcd=etcd)
        end = one.calls + steps

        def delete_mirror(one: World = one, end: int = end) -> None:
            if one.calls >= end:
                one.mirrors.pop("widgets.example.com", None)

        one.meanwhile = delete_mirror
        while one.has_crd():
            with suppress(ApiError):
                await reconcile_group(one.transition())

        assert one.at_host() == {}


@pytest.mark.parametrize("etcd", [True, False])
async def test_keeps_finalizers_of_a_definition_deleted_while_copying(world: Make, etcd: bool) -> None:  # noqa: FBT001
    """Leave the deletion to the host while it still serves the objects: their finalizers are in use."""
    for stops in range(1, 60):
        one = filled(world)
        one.write_at_host("ns0/kept", {"finalizers": ["example.com/x"]})
        if not etcd:
            one.host_etcd = None
        one.stop_at = stops
        with suppress(Stopped):
            await reconcile_group(one.transition())
        one.stop_at = 0
        if one.routed["v1"] or not one.crd()["metadata"].get("finalizers"):
            continue
        one.crd()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

        await reconcile_group(one.transition())

        assert one.phase() is None
        assert not one.denies_writes
        assert one.at_host()["ns0/kept"] == {"finalizers": ["example.com/x"]}
        assert one.routed == {"v1": False}


async def test_continues_a_deletion_after_any_interruption(world: Make) -> None:
    """Finish the deletion with and without the host's etcd, wherever the first operator was interrupted."""
    for number in range(80):
        one = await deleted(world, etcd=bool(number % 2))
        del one.mirrors["widgets.example.com"]
        one.calls, one.stop_at = 0, number // 2 + 1
        with suppress(Stopped):
            await reconcile_group(one.transition())
        one.stop_at = 0
        await reconcile_group(one.transition())

        assert one.at_host() == {}
        assert not one.denies_writes
