"""The take-over of a group by apiext."""

import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from apiext.base.meta import host_annotations
from apiext.operator.adoption.admission_policy import Policy, probe
from apiext.operator.adoption.reconcile import reconcile_group
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.host_definitions import ConditionReason
from tests.unit.operator.adoption.world import Stopped, World, thing

Make = Callable[..., World]
OBJECTS = {f"ns{number % 3}/o{number:02}": {"n": number} for number in range(11)}


def filled(make: Make, *names: str) -> World:
    """Return a world whose host has objects."""
    world = make(*names)
    for key, spec in OBJECTS.items():
        world.write_at_host(key, spec)
    return world


def mirror_of_before(world: World) -> Any:
    """Return the mirror, with objects, of an earlier definition of that name."""
    annotations = {host_annotations.HOST_UID: "of-before", host_annotations.PHASE: host_annotations.SERVING}
    return {**world.crd(), "metadata": {"name": "widgets.example.com", "uid": "mirror-of-before", "annotations": annotations}}


class Writer:
    """A client that writes before each call of the operator, and keeps what was acknowledged."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._count = 0
        self.held: dict[str, Any] = dict(OBJECTS)
        world.meanwhile = self

    def __call__(self) -> None:
        """Create, change or delete an object."""
        self._count += 1
        key = f"ns{self._count % 2}/o{self._count % 13:02}"
        spec = None if self._count % 5 == 0 else {"n": -self._count}
        if self._world.write(key, spec):
            self.held.pop(key, None)
            if spec is not None:
                self.held[key] = spec


Prepare = Callable[[World], Awaitable[None]]


async def interrupted_worlds(make: Make, prepare: Prepare | None = None) -> AsyncIterator[tuple[World, Writer, bool]]:
    """Yield worlds whose operator was interrupted at its n-th call, for n = 1, 2, ..., and whether it was; the last one is finished."""
    stops, stopped = 0, True
    while stopped:
        stops += 1
        one = filled(make)
        writer = Writer(one)
        if prepare is not None:
            await prepare(one)
        one.calls, one.stop_at = 0, stops
        try:
            await reconcile_group(one.transition())
            stopped = False
        except Stopped:
            one.stop_at = 0
        yield one, writer, stopped

    assert stops > 30


def assert_adopted(world: World) -> None:
    """Assert that apiext serves the whole group."""
    assert world.phase() == host_annotations.SERVING
    assert world.routed == {"v1": True}
    assert world.denies_writes
    assert world.crd()["metadata"]["finalizers"] == [host_annotations.INSTANCES_FINALIZER]
    assert host_annotations.ADOPTION_CATEGORY not in world.crd()["spec"]["names"].get("categories", [])
    assert "widgets.example.com" in world.watches_reset
    assert world.said[-1][0] is ConditionReason.SERVING


@pytest.fixture
def one(world: Make) -> World:
    """Return a world whose host has objects."""
    return filled(world)


async def test_copies_objects_unchanged(one: World) -> None:
    """Copy objects unchanged, and report each step."""
    assert (await reconcile_group(one.transition())).routing is Routing.APIEXT

    assert_adopted(one)
    assert one.at_apiext() == one.at_host() == OBJECTS
    assert one.objects["widgets.example.com"]["ns0/o00"]["metadata"]["uid"] == "uid-ns0/o00"
    reasons = [reason for reason, _ in one.said]
    assert set(reasons[:-1]) == {ConditionReason.ADOPTING}
    assert (ConditionReason.ADOPTING, "objects copied: 11 of 11") in one.said


async def test_changes_nothing_after_the_take_over(one: World) -> None:
    """Send few requests, and write nothing, for a group that apiext serves already."""
    await reconcile_group(one.transition())
    calls, watches_reset = one.calls, list(one.watches_reset)

    await reconcile_group(one.transition())

    assert one.calls - calls <= 4
    assert one.watches_reset == watches_reset


async def test_continues_after_any_interruption(world: Make) -> None:
    """Finish the take-over with every acknowledged write, wherever the first operator was interrupted."""
    async for one, writer, stopped in interrupted_worlds(world):
        if stopped:
            assert one.phase() == host_annotations.SERVING or not one.routed["v1"]
            await reconcile_group(one.transition())
        assert_adopted(one)
        assert one.at_apiext() == writer.held
        assert len([call for call in one.watches_reset if call == "widgets.example.com"]) >= 2


async def test_copies_changes_during_the_first_copy(one: World) -> None:
    """Copy what clients change and delete during the first copy."""
    changes = [("ns0/o00", None), ("ns0/o03", {"n": 99}), ("ns9/new", {"n": 1})]

    def write() -> None:
        if changes and one.objects["widgets.example.com"]:
            one.write_at_host(*changes.pop())

    one.meanwhile = write
    await reconcile_group(one.transition())

    assert one.at_apiext() == one.at_host()
    assert "ns0/o00" not in one.at_apiext()


async def test_waits_for_late_writes(one: World) -> None:
    """Keep the host serving while its objects still change after the policy is enforced."""
    late = [1, 2, 3]

    def write() -> None:
        if one.denies_writes and late and one.phase() == host_annotations.IMPORTING:
            one.write_at_host("ns0/o00", {"n": late.pop()})

    one.meanwhile = write
    await reconcile_group(one.transition())

    assert one.at_apiext() == one.at_host()
    assert one.at_apiext()["ns0/o00"] == {"n": 1}


async def test_moves_all_definitions_together(world: Make) -> None:
    """Move all definitions of a group together."""
    one = filled(world, "widgets", "gadgets")
    one.write_at_host("a/g", {"n": 1}, "gadgets")

    await reconcile_group(one.transition())

    assert (one.phase("widgets"), one.phase("gadgets")) == (host_annotations.SERVING, host_annotations.SERVING)
    assert one.at_apiext("gadgets") == {"a/g": {"n": 1}}


async def test_serves_a_later_definition(one: World) -> None:
    """Serve a definition that joins an adopted group, without a copy."""
    await reconcile_group(one.transition())
    one.define("gadgets")

    await reconcile_group(one.transition())

    assert one.phase("gadgets") == host_annotations.SERVING
    assert one.at_apiext() == OBJECTS
    assert "gadgets.example.com" in one.watches_reset


async def test_serves_a_definition_whose_webhook_fails(one: World) -> None:
    """Serve a definition that joins an adopted group although its objects cannot be converted."""
    await reconcile_group(one.transition())
    name = one.define("gadgets")
    one.crd("gadgets")["spec"]["versions"].append(one.crd("gadgets")["spec"]["versions"][0] | {"name": "v2", "storage": False})
    one.routed["v2"] = False
    one.inconvertible = {"v1", "v2"}
    one.objects[name]["a/g"] = thing("a/g", {"n": 1})

    await reconcile_group(one.transition())

    assert one.routed == {"v1": True, "v2": True}
    assert name in one.watches_reset
    assert one.said[-1][0] is ConditionReason.SERVING


async def test_leaves_a_definition_that_is_deleted_before_the_host_proxies_it(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on with the deletion of a definition at once while the host does not proxy one of its versions."""
    monkeypatch.setattr("apiext.operator.adoption.transition.CHECK_SECONDS", 0.0)
    monkeypatch.setattr("apiext.operator.adoption.polling.TIMEOUT_SECONDS", 1000.0)
    one = filled(world)
    one.crd()["spec"]["versions"].append(one.crd()["spec"]["versions"][0] | {"name": "v2", "storage": False})

    async def route(_group: str, _routing: Routing) -> None:
        one.routed = {"v1": True, "v2": False}
        one.meanwhile = lambda: one.crd()["metadata"].update(deletionTimestamp="2025-01-01T00:00:00Z")

    one.routed["v2"] = False
    monkeypatch.setattr(one, "route", route)

    assert (await reconcile_group(one.transition())).routing is Routing.APIEXT

    assert one.said[-1] == (ConditionReason.SERVING, "apiext deletes the objects")


async def test_leaves_a_definition_that_is_deleted_before_it_has_a_mirror(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on with the deletion of a definition at once while apiext does not follow it."""
    monkeypatch.setattr("apiext.operator.adoption.polling.TIMEOUT_SECONDS", 1000.0)
    one = filled(world)
    one.mirrors = {"widgets.example.com": mirror_of_before(one)}

    def delete() -> None:
        if one.said:
            one.meanwhile = lambda: None
            one.crd()["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
            one.mirrors.clear()

    one.meanwhile = delete

    await reconcile_group(one.transition())

    assert not one.has_crd()


async def test_blocks_unsupported_definitions(one: World) -> None:
    """Leave a definition alone that apiext cannot serve, and report the reason."""
    one.crd()["spec"]["versions"] = [{"name": "v1", "served": False, "storage": True}]

    assert (await reconcile_group(one.transition())).routing is Routing.HOST

    assert one.said[-1][0] is ConditionReason.BLOCKED
    assert "no served version" in one.said[-1][1]
    assert "finalizers" not in one.crd()["metadata"]


async def test_checks_conversions_while_the_host_serves(one: World) -> None:
    """Stop before the host's writes are denied if apiext cannot convert objects to a served version, and continue once it can."""
    one.crd()["spec"]["versions"].append(one.crd()["spec"]["versions"][0] | {"name": "v2", "storage": False})
    one.inconvertible = {"v2"}
    with pytest.raises(ApiError, match=r"/v2/widgets\?limit=1\": webhook failed"):
        await reconcile_group(one.transition())
    assert not one.denies_writes
    assert (one.phase(), one.routed["v1"]) == (host_annotations.IMPORTING, False)

    one.inconvertible = set()
    one.routed["v2"] = False
    await reconcile_group(one.transition())
    assert (one.phase(), one.routed) == (host_annotations.SERVING, {"v1": True, "v2": True})


@pytest.mark.parametrize(
    "answer, reason",
    [
        ((500, "internal server error: not listed"), "apiext is not ready: .*not listed"),
        ((404, "404 page not found"), "apiext is of an earlier release, which does not call the host's webhooks"),
    ],
)
async def test_requires_the_hosts_webhooks_and_policies(one: World, answer: tuple[int, Any], reason: str) -> None:
    """Fail before the host refuses writes while apiext does not know the host's webhooks and policies."""
    one.admission = answer

    with pytest.raises(ApiError, match=reason):
        await reconcile_group(one.transition())
    assert (one.denies_writes, one.phase()) == (False, host_annotations.IMPORTING)

    one.admission = (200, "ok")
    assert (await reconcile_group(one.transition())).routing is Routing.APIEXT
    assert one.said[-1] == (ConditionReason.SERVING, "apiext serves the group")


async def test_blocks_definitions_that_are_not_established(one: World) -> None:
    """Leave a definition alone that is not Established."""
    one.crd()["status"]["conditions"] = []

    await reconcile_group(one.transition())

    assert one.said[-1] == (ConditionReason.BLOCKED, "widgets.example.com is not established by the host: see its conditions")


async def test_blocks_partly_selected_groups(world: Make) -> None:
    """Leave a group alone of which one definition is not selected."""
    one = filled(world, "widgets", "gadgets")
    one.crd("gadgets")["metadata"]["labels"] = {}

    await reconcile_group(one.transition())

    reason, message = one.said[-1]
    assert reason is ConditionReason.BLOCKED
    assert "label gadgets.example.com too" in message
    assert not one.routed["v1"]


async def test_reports_missing_mirrors(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a remedy if apiext does not follow the host."""
    monkeypatch.setattr("apiext.operator.adoption.polling.TIMEOUT_SECONDS", 0.0)
    one = filled(world)
    one.mirrors = {"widgets.example.com": mirror_of_before(one)}

    with pytest.raises(ApiError, match="is it started with --crd-selector"):
        await reconcile_group(one.transition())


async def test_limits_the_policy_to_the_group(one: World) -> None:
    """Limit the policy to the group's resources, and the ConfigMap that tests it."""
    await reconcile_group(one.transition())

    [policy] = [found for path, found in one.host.items() if path.endswith("validatingadmissionpolicies/apiext-example.com")]
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    assert [rule["resources"] for rule in rules] == [["widgets", "widgets/*"], ["configmaps"]]
    assert policy["spec"]["validations"] == [{"expression": "false", "reason": "Forbidden", "message": "apiext serves group example.com"}]


async def test_tells_policies_of_groups_apart(one: World) -> None:
    """Do not take the policy of another group with the same resources for the group's own."""
    await reconcile_group(one.transition())
    clients = one.transition().clients
    other = Policy(clients.host, "other.example.com", "")

    assert not await other.denies(probe("other.example.com", ["widgets"]))
    assert await Policy(clients.host, "example.com", "").denies(probe("example.com", ["widgets"]))


async def test_refuses_a_host_that_encrypts(world: Make) -> None:
    """Touch nothing if the host's etcd has values that a hand-over could not read; take the group over once they can be read."""
    one = filled(world)
    key = "/registry/example.com/widgets/ns9/sealed"
    await one.backend.create(key, b"k8s:enc:aescbc:v1:key1:...")
    before = copy.deepcopy((one.host, one.mirrors, one.objects))

    with pytest.raises(ApiError, match="start the operator with --host-encryption-provider-config"):
        await reconcile_group(one.transition())

    assert (one.host, one.mirrors, one.objects) == before
    await one.backend.delete(key, expected=one.backend.state[key].revision)
    await reconcile_group(one.transition())
    assert one.at_apiext() == OBJECTS


async def test_drops_copies_of_an_earlier_definition(one: World) -> None:
    """Delete the incomplete copies of an earlier definition of that name, which are in the way."""
    one.mirrors = {"widgets.example.com": mirror_of_before(one)}
    del one.mirrors["widgets.example.com"]["metadata"]["annotations"][host_annotations.PHASE]

    await reconcile_group(one.transition())

    assert_adopted(one)


async def test_lets_clients_write_while_it_is_blocked(world: Make) -> None:
    """Lift the freeze of a take-over that cannot go on: a definition without the label has joined, and the other one was replaced."""
    one = filled(world)
    one.meanwhile = lambda: setattr(one, "stop_at", one.calls if one.denies_writes else 0)
    with pytest.raises(Stopped):
        await reconcile_group(one.transition())
    one.meanwhile = lambda: None
    one.define("gadgets", labels={})
    one.crd()["metadata"]["finalizers"] = []

    assert (await reconcile_group(one.transition())).routing is Routing.HOST

    assert (one.denies_writes, one.said[-1][0]) == (False, ConditionReason.BLOCKED)
    assert one.write("ns0/o00", {"n": 5})


async def test_waits_for_a_deletion_by_the_host(world: Make) -> None:
    """Leave a group with the host while the host deletes one of its definitions, whose objects clients could not reach otherwise."""
    one = filled(world, "widgets", "gadgets")
    one.crd("gadgets")["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["other"]}
    one.mirrors.pop("gadgets.example.com")

    assert (await reconcile_group(one.transition())).routing is Routing.HOST

    assert one.said[-1][0] is ConditionReason.BLOCKED
    assert "the host is deleting gadgets.example.com" in one.said[-1][1]
