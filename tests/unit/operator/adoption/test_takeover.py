"""A group on its way to apiext."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from apiext.meta import host_annotations
from apiext.operator.adoption.admission_policy import Policy, probe
from apiext.operator.adoption.reconcile import take
from apiext.operator.adoption.watch_reset import CATEGORY
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.reporting.reporter import Reason
from tests.unit.operator.adoption.world import Stopped, World

Make = Callable[..., World]
OBJECTS = {f"ns{number % 3}/o{number:02}": {"n": number} for number in range(11)}


def filled(make: Make, *names: str) -> World:
    """A world whose host has objects."""
    world = make(*names)
    for key, spec in OBJECTS.items():
        world.write_at_host(key, spec)
    return world


class Writer:
    """Writes at every opportunity, and remembers what was acknowledged."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._count = 0
        self.held: dict[str, Any] = dict(OBJECTS)
        world.meanwhile = self

    def __call__(self) -> None:
        """Create, change or delete."""
        self._count += 1
        key = f"ns{self._count % 2}/o{self._count % 13:02}"
        spec = None if self._count % 5 == 0 else {"n": -self._count}
        if self._world.write(key, spec):
            self.held.pop(key, None)
            if spec is not None:
                self.held[key] = spec


Prepare = Callable[[World], Awaitable[None]]


async def stopped_anywhere(make: Make, prepare: Prepare | None = None) -> AsyncIterator[tuple[World, Writer, bool]]:
    """Worlds in which the operator was ended at its first call, its second one, and so on, and whether it was; the last one is done."""
    stops, stopped = 0, True
    while stopped:
        stops += 1
        one = filled(make)
        writer = Writer(one)
        if prepare is not None:
            await prepare(one)
        one.calls, one.stop_at = 0, stops
        try:
            await take(one.way())
            stopped = False
        except Stopped:
            one.stop_at = 0
        yield one, writer, stopped

    assert stops > 30


def adopted(world: World) -> None:
    """The group is apiext's, wholly."""
    assert world.phase() == host_annotations.SERVING
    assert world.routed == {"v1": True}
    assert world.bites
    assert world.crd()["metadata"]["finalizers"] == [host_annotations.INSTANCES_FINALIZER]
    assert CATEGORY not in world.crd()["spec"]["names"].get("categories", [])
    assert "widgets.example.com" in world.touched
    assert world.said[-1][0] is Reason.SERVING


async def test_adopt(world: Make) -> None:
    """Objects are copied as they are, and each step is told."""
    one = filled(world)

    assert (await take(one.way())).routing is Routing.APIEXT

    adopted(one)
    assert one.at_apiext() == one.at_host() == OBJECTS
    assert one.objects["widgets.example.com"]["ns0/o00"]["metadata"]["uid"] == "uid-ns0/o00"
    reasons = [reason for reason, _ in one.said]
    assert set(reasons[:-1]) == {Reason.ADOPTING}
    assert (Reason.ADOPTING, "copied 11 of 11 objects") in one.said


async def test_nothing_is_left_to_do(world: Make) -> None:
    """A group that is apiext's is looked at with few questions, and nothing is touched again."""
    one = filled(world)
    await take(one.way())
    calls, touched = one.calls, list(one.touched)

    await take(one.way())

    assert one.calls - calls <= 3
    assert one.touched == touched


async def test_interrupted_anywhere(world: Make) -> None:
    """Wherever the operator is ended, another one goes on, and every write that was acknowledged is there at the end."""
    async for one, writer, stopped in stopped_anywhere(world):
        if stopped:
            assert one.phase() == host_annotations.SERVING or not one.routed["v1"]
            await take(one.way())
        adopted(one)
        assert one.at_apiext() == writer.held
        assert len([call for call in one.touched if call == "widgets.example.com"]) >= 2


async def test_writes_after_the_first_copy(world: Make) -> None:
    """What clients change while the first copy is made comes with the next one; what is deleted goes."""
    one = filled(world)
    changes = [("ns0/o00", None), ("ns0/o03", {"n": 99}), ("ns9/new", {"n": 1})]

    def write() -> None:
        if changes and one.objects["widgets.example.com"]:
            one.write_at_host(*changes.pop())

    one.meanwhile = write
    await take(one.way())

    assert one.at_apiext() == one.at_host()
    assert "ns0/o00" not in one.at_apiext()


async def test_late_writes_hold_the_flip(world: Make) -> None:
    """As long as the host's objects still change, although the policy bites, apiext does not begin."""
    one = filled(world)
    late = [1, 2, 3]

    def write() -> None:
        if one.bites and late and one.phase() == host_annotations.IMPORTING:
            one.write_at_host("ns0/o00", {"n": late.pop()})

    one.meanwhile = write
    await take(one.way())

    assert one.at_apiext() == one.at_host()
    assert one.at_apiext()["ns0/o00"] == {"n": 1}


async def test_two_definitions(world: Make) -> None:
    """All definitions of a group go together."""
    one = filled(world, "widgets", "gadgets")
    one.write_at_host("a/g", {"n": 1}, "gadgets")

    await take(one.way())

    assert (one.phase("widgets"), one.phase("gadgets")) == (host_annotations.SERVING, host_annotations.SERVING)
    assert one.at_apiext("gadgets") == {"a/g": {"n": 1}}


async def test_another_definition_later(world: Make) -> None:
    """A definition that joins a group of apiext's has nothing at the host that could be copied, and is served."""
    one = filled(world)
    await take(one.way())
    one.define("gadgets")

    await take(one.way())

    assert one.phase("gadgets") == host_annotations.SERVING
    assert one.at_apiext() == OBJECTS
    assert "gadgets.example.com" in one.touched


@pytest.mark.parametrize(
    "change, message",
    [
        ({"conversion": {"strategy": "Webhook"}}, "converts its objects by a webhook"),
        ({"versions": [{"name": "v1", "served": False, "storage": True}]}, "no version that is served"),
    ],
)
async def test_blocked(world: Make, change: dict[str, Any], message: str) -> None:
    """A definition that apiext cannot serve is left alone, and it is said why."""
    one = filled(world)
    one.crd()["spec"] |= change

    assert (await take(one.way())).routing is Routing.AS_IT_IS

    assert one.said[-1][0] is Reason.BLOCKED
    assert message in one.said[-1][1]
    assert "finalizers" not in one.crd()["metadata"]


async def test_not_established(world: Make) -> None:
    """A definition without names of its own has nothing to serve."""
    one = filled(world)
    one.crd()["status"]["conditions"] = []

    await take(one.way())

    assert one.said[-1] == (Reason.BLOCKED, "widgets.example.com is not established by the host: see its conditions")


async def test_not_all_selected(world: Make) -> None:
    """A group of which a definition is not selected stays where it is."""
    one = filled(world, "widgets", "gadgets")
    one.crd("gadgets")["metadata"]["labels"] = {}

    await take(one.way())

    reason, message = one.said[-1]
    assert reason is Reason.BLOCKED
    assert "label gadgets.example.com too" in message
    assert not one.routed["v1"]


async def test_mirrors_that_do_not_come(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where apiext does not follow the host it is said what to look at."""
    monkeypatch.setattr("apiext.operator.adoption.polling.PATIENCE", 0.0)
    one = filled(world)
    one.mirrors = {"widgets.example.com": {**one.crd(), "metadata": {"annotations": {host_annotations.HOST_UID: "of-before"}}}}

    with pytest.raises(ApiError, match="is it started with --crd-selector"):
        await take(one.way())


async def test_the_policy_says_who_refuses(world: Make) -> None:
    """The policy is about this group's resources, and about the ConfigMap that is asked for."""
    one = filled(world)
    await take(one.way())

    [policy] = [found for path, found in one.host.items() if path.endswith("validatingadmissionpolicies/apiext-example.com")]
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    assert [rule["resources"] for rule in rules] == [["widgets", "widgets/*"], ["configmaps"]]
    assert policy["spec"]["validations"] == [{"expression": "false", "reason": "Forbidden", "message": "apiext serves group example.com"}]


async def test_a_policy_of_another_group(world: Make) -> None:
    """Policies of groups with the same resources are told apart: that another group's bites says nothing."""
    one = filled(world)
    await take(one.way())
    clients = one.way().clients
    other = Policy(clients.host, "other.example.com")

    assert not await other._refuses(probe("other.example.com", ["widgets"]))
    assert await Policy(clients.host, "example.com")._refuses(probe("example.com", ["widgets"]))
