"""One look at a group."""

from collections.abc import Callable
from typing import Any

import pytest

from apiext.meta import host_annotations
from apiext.operator import host_definitions, reconciler
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError, Clients
from apiext.operator.group_state import Desired, GroupState, Routing
from apiext.operator.reconciler import Hands, Reconciler
from apiext.operator.reporting.event_recorder import Recorder
from apiext.operator.reporting.reporter import Reason
from apiext.operator.watched_state import Watched
from tests.support.servers.memory_api import MemoryApi
from tests.unit.operator.parts import GROUP, SELECTOR, TARGET, Json, api_service, crd, mirror, own, registered

NAME = f"v1.{GROUP}"
WIDGETS = f"{CRDS}/widgets.{GROUP}"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
Take = Callable[..., Any]


class Bench:
    """An operator's look, with a host and apiext in memory; `take` stands for the steps of a group."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host, self.apiext = MemoryApi(), MemoryApi()
        self.watched = Watched(SELECTOR, lambda _: None, TARGET.service)
        self.watched.known = True
        self.taken: list[GroupState] = []
        self.desired = Desired(routing=Routing.AS_IT_IS)
        self.hop = ""
        self.moment = 100.0
        self.clients = Clients(host=self.host, apiext=self.apiext)
        self.reconciler = Reconciler(
            self.clients, self.watched, Recorder(self.host, instance="me"), lambda: TARGET, self._diagnosed, clock=lambda: self.moment
        )
        monkeypatch.setattr(reconciler, "reconcile_group", self.take)

    async def take(self, group: GroupState, _clients: Clients, report: Any, _hands: Hands) -> Desired:
        """See reconcile_group."""
        self.taken.append(group)
        if self.desired.routing is Routing.APIEXT:
            await report.condition(group.selected.values(), Reason.SERVING, "all is well")
        return self.desired

    def has(self, *crds: Json, api_services: tuple[Json, ...] = (), definitions: tuple[Json, ...] = ()) -> None:
        """Have these on both sides, and know them."""
        for found in crds:
            self.watched.crds.changed(self.host.put_in(f"{CRDS}/{found['metadata']['name']}", found))
        for found in api_services:
            self.watched.api_services.changed(self.host.put_in(f"{API_SERVICES}/{found['metadata']['name']}", found))
        for found in definitions:
            self.watched.definitions.changed(self.apiext.put_in(f"{CRDS}/{found['metadata']['name']}", found))

    async def look(self) -> float | None:
        """Look once."""
        return await self.reconciler.look(GROUP)

    def said(self) -> tuple[str, str]:
        """The condition of the definition."""
        found = host_definitions.condition_of(self.host.objects[WIDGETS]) or {}
        return found.get("reason", ""), found.get("message", "")

    def events(self) -> list[str]:
        """Reasons of events."""
        return [one["reason"] for one in self.host.under("/api/v1/namespaces/default/events").values()]

    async def _diagnosed(self, _group: str) -> str:
        return self.hop


def _unavailable(found: Json) -> Json:
    return found | {"status": {"conditions": [{"type": "Available", "status": "False", "message": "no endpoints"}]}}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench."""
    return Bench(monkeypatch)


async def test_own_definitions(bench: Bench) -> None:
    """They are registered, told, and all is quiet then."""
    bench.has(definitions=(own(),))
    assert await bench.look() is None
    assert list(bench.host.under(API_SERVICES)) == [NAME]
    assert bench.events() == ["Registered"]

    before = len(bench.host.written())
    assert await bench.look() is None
    assert len(bench.host.written()) == before
    assert bench.taken == []


async def test_groups_that_are_no_concern(bench: Bench) -> None:
    """Nothing is asked about them."""
    bench.has(crd(selected=False), api_services=(api_service(),))
    assert await bench.look() is None
    assert bench.host.calls == bench.apiext.calls == []


async def test_nothing_goes_while_apiext_is_away(bench: Bench) -> None:
    """What it was known to have no longer is asked for anew; without an answer the APIService stays."""
    bench.has(api_services=(registered(),))
    bench.apiext.down = True
    with pytest.raises(ApiError):
        await bench.look()
    assert list(bench.host.under(API_SERVICES)) == [NAME]

    bench.apiext.down = False
    bench.apiext.put_in(WIDGETS, own())
    await bench.look()
    assert list(bench.host.under(API_SERVICES)) == [NAME]

    bench.apiext.objects.clear()
    await bench.look()
    assert list(bench.host.under(API_SERVICES)) == []
    assert bench.events() == ["Removed"]


async def test_an_operator_that_knows_nothing_yet(bench: Bench) -> None:
    """Until apiext has said what it has nothing is written but why, and that after some attempts."""
    bench.watched.known = False
    bench.has(crd(), api_services=(registered(),))
    assert await bench.look() is not None
    bench.apiext.down = True
    for _ in range(3):
        with pytest.raises(ApiError):
            await bench.look()

    assert bench.said() == ("Failed", "cannot connect")
    assert bench.events() == ["Failed"]

    bench.has(api_services=(_unavailable(registered()),))
    bench.hop = "connection: refused"
    for _ in range(2):
        with pytest.raises(ApiError):
            await bench.look()
        bench.moment += 2
    assert bench.events() == ["Failed", "NotAvailable"]
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == registered()["spec"]


async def test_steps_decide_who_serves(bench: Bench) -> None:
    """The group's own steps take it to apiext, and back without a gap; apiext is not asked whether that is right."""
    bench.has(crd(), api_services=(api_service(),), definitions=(mirror(),))
    bench.desired = Desired(routing=Routing.APIEXT, after=3.0)
    assert await bench.look() == 3.0
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == registered()["spec"]
    assert bench.said() == ("Serving", "all is well")

    bench.desired = Desired(routing=Routing.HOST)
    await bench.look()
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == api_service()["spec"]
    assert ("GET", CRDS) not in bench.apiext.calls
    assert bench.events() == ["Serving", "TakenOver", "GivenBack"]


async def test_those_of_others(bench: Bench) -> None:
    """A group with an APIService of somebody else is not begun with, which its definition says; it is looked at again."""
    foreign = api_service(labels={}, service={"namespace": "a", "name": "b", "port": 1})
    bench.has(crd(), api_services=(foreign,))
    assert await bench.look() is not None

    assert bench.taken == []
    assert bench.said()[0] == "Blocked"
    assert "points at Service a/b" in bench.said()[1]
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == foreign["spec"]


async def test_those_of_another_installation(bench: Bench) -> None:
    """What another apiext has is nobody else's to take or to give back; who has selected it, too, is told."""
    theirs: dict[str, Any] = {
        "finalizers": [host_annotations.INSTANCES_FINALIZER],
        "annotations": {host_annotations.SERVICE: "other/apiext"},
    }
    bench.has(
        crd(selected=False, **theirs), api_services=(registered(by="other/apiext", service={"namespace": "other", "name": "apiext"}),)
    )
    bench.watched.guarded = {GROUP}
    assert await bench.look() is None

    bench.has(crd(resourceVersion="2", **theirs))
    assert await bench.look() is not None

    assert bench.taken == []
    assert bench.events() == ["LeftAlone"]
    assert bench.host.objects[WIDGETS]["metadata"]["finalizers"] == [host_annotations.INSTANCES_FINALIZER]
    assert bench.said() == ("", "")


async def test_what_cannot_be_reached(bench: Bench) -> None:
    """When that lasts the condition names the broken hop, and it is true again afterwards."""
    bench.desired = Desired(routing=Routing.APIEXT)
    bench.has(crd(), api_services=(_unavailable(registered()),), definitions=(mirror(),))
    bench.hop = "certificate: it has ended"
    assert await bench.look() == 2.0
    assert bench.said() == ("Serving", "all is well")
    bench.moment += 2
    assert await bench.look() == 30.0
    assert bench.said() == ("Failed", f"APIService {NAME} is not available: certificate: it has ended")
    assert "NotAvailable" in bench.events()

    bench.has(api_services=(registered(),))
    assert await bench.look() is None
    assert bench.said() == ("Serving", "all is well")


async def test_what_is_about_to_be_put_right(bench: Bench) -> None:
    """That an APIService is not available because somebody has changed it is not told."""
    bench.has(api_services=(_unavailable(registered(versionPriority=1)),), definitions=(own(),))
    assert await bench.look() is None

    assert bench.events() == ["Repaired"]


async def test_definitions_that_are_deleted(bench: Bench) -> None:
    """They are held until apiext says that it has no copy any more; then what is left on the host goes, too."""
    held = crd(deletionTimestamp="now", finalizers=[host_annotations.INSTANCES_FINALIZER, "other"])
    bench.has(held, api_services=(registered(),), definitions=(mirror(),))
    bench.watched.guarded.add(GROUP)
    bench.host.put_in(f"{POLICIES}/apiext-{GROUP}", {})
    bench.desired = Desired(routing=Routing.APIEXT)
    await bench.look()
    assert host_annotations.INSTANCES_FINALIZER in bench.host.objects[WIDGETS]["metadata"]["finalizers"]

    bench.apiext.objects.clear()
    bench.watched.definitions.gone(f"widgets.{GROUP}")
    await bench.look()
    assert bench.host.objects[WIDGETS]["metadata"]["finalizers"] == ["other"]

    bench.watched.crds.gone(f"widgets.{GROUP}")
    await bench.look()
    assert (bench.host.under(API_SERVICES), bench.host.under(POLICIES), bench.watched.guarded) == ({}, {}, set())


async def test_stored_versions(bench: Bench) -> None:
    """Those of the mirror are among the host's."""
    bench.has(
        crd("v1", "v2") | {"status": {"storedVersions": ["v1"]}}, definitions=(mirror("v1", "v2", status={"storedVersions": ["v2"]}),)
    )
    await bench.look()

    assert bench.host.objects[WIDGETS]["status"]["storedVersions"] == ["v1", "v2"]


async def test_what_fails(bench: Bench) -> None:
    """A refusal is told at once; what may pass by itself when it has not."""
    bench.has(crd(), definitions=(mirror(),))
    bench.desired = Desired(routing=Routing.APIEXT)
    bench.host.refused["POST", API_SERVICES] = ApiError("it is overloaded", code=503)
    with pytest.raises(ApiError):
        await bench.look()
    assert bench.said() == ("Serving", "all is well")

    bench.host.refused["POST", API_SERVICES] = ApiError("apiservices is forbidden", code=403)
    with pytest.raises(ApiError):
        await bench.look()
    assert bench.said() == ("Failed", "apiservices is forbidden")


async def test_somebody_was_faster(bench: Bench) -> None:
    """A change in between is learnt, and nothing is overwritten that was not seen."""
    bench.has(definitions=(own(),), api_services=(registered(versionPriority=1),))
    newer = registered(service={"namespace": "x", "name": "y", "port": 1})
    newer["metadata"]["labels"] = {}
    bench.host.put_in(f"{API_SERVICES}/{NAME}", newer)
    await bench.look()

    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == newer["spec"]
    assert bench.watched.group(GROUP).api_services[NAME]["spec"] == newer["spec"]


async def test_definitions_of_both(bench: Bench) -> None:
    """What the host serves and apiext could is told once, and left."""
    bench.has(crd(selected=False), api_services=(api_service(),), definitions=(own(),))
    await bench.look()
    await bench.look()

    assert bench.events() == ["LeftAlone"]
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == api_service()["spec"]


async def test_hands(bench: Bench) -> None:
    """A step reads the group as it is, and has all its APIServices written."""
    bench.has(crd(), api_services=(api_service(),), definitions=(mirror(),))
    hands = Hands(GROUP, bench.clients, bench.watched, bench.reconciler._registrar)
    bench.host.put_in(WIDGETS, crd("v1", "v2"))
    bench.apiext.objects.clear()

    group = await hands.read()
    assert (len(group.crds[f"widgets.{GROUP}"]["spec"]["versions"]), group.definitions) == (2, {})
    await hands.route(Routing.APIEXT)
    assert [one["spec"].get("service", {}).get("name") for one in bench.host.under(API_SERVICES).values()] == ["apiext", "apiext"]
    await hands.route(Routing.HOST)
    assert [one["spec"].get("service") for one in bench.host.under(API_SERVICES).values()] == [None, None]


async def test_hands_and_those_of_others(bench: Bench) -> None:
    """A step is told what is in its way."""
    bench.has(crd(), api_services=(api_service(labels={}, service={"namespace": "a", "name": "b", "port": 1}),), definitions=(mirror(),))
    with pytest.raises(ApiError, match="points at Service a/b"):
        await Hands(GROUP, bench.clients, bench.watched, bench.reconciler._registrar).route(Routing.APIEXT)
