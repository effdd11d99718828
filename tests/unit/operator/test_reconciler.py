"""The reconciliation of one group."""

from collections.abc import Callable
from typing import Any

import pytest

from apiext.base.meta import host_annotations
from apiext.operator import reconciler
from apiext.operator.adoption.transition import Transition
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError, Clients
from apiext.operator.apiservices.registrar import Registrar
from apiext.operator.group_state import Desired, GroupState, Routing, condition_of
from apiext.operator.host_definitions import ConditionReason
from apiext.operator.reconciler import Reconciler
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.watched_state import WatchedState
from tests.support.servers.memory_api import MemoryApi
from tests.unit.operator.parts import GROUP, SELECTOR, TARGET, Json, api_service, crd, held, mirror, own, registered

NAME = f"v1.{GROUP}"
WIDGETS = f"{CRDS}/widgets.{GROUP}"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
Take = Callable[..., Any]


class Bench:
    """A reconciler with a host and an apiext in memory; `take` replaces the adoption steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host, self.apiext = MemoryApi(), MemoryApi()
        self.watched = WatchedState(SELECTOR, lambda _: None, str(TARGET.service))
        self.watched.known = True
        self.taken: list[GroupState] = []
        self.desired = Desired(routing=Routing.AS_IT_IS)
        self.hop = ""
        self.moment = 100.0
        self.clients = Clients(host=self.host, apiext=self.apiext)
        self.reconciler = Reconciler(
            self.clients, self.watched, EventRecorder(self.host, instance="me"), lambda: TARGET, self._diagnosed, clock=lambda: self.moment
        )
        monkeypatch.setattr(reconciler, "reconcile_group", self.take)

    async def take(self, transition: Transition) -> Desired:
        """Replace reconcile_group."""
        self.taken.append(transition.group)
        if self.desired.routing is Routing.APIEXT:
            await transition.report(ConditionReason.SERVING, "all is well", transition.group.selected)
        return self.desired

    def has(self, *crds: Json, api_services: tuple[Json, ...] = (), definitions: tuple[Json, ...] = ()) -> None:
        """Create these objects on both servers and in the watched state."""
        for found in crds:
            self.watched.crds.update(self.host.put_in(f"{CRDS}/{found['metadata']['name']}", found))
        for found in api_services:
            self.watched.api_services.update(self.host.put_in(f"{API_SERVICES}/{found['metadata']['name']}", found))
        for found in definitions:
            self.watched.definitions.update(self.apiext.put_in(f"{CRDS}/{found['metadata']['name']}", found))

    def registrar(self) -> Registrar:
        """Return the writer of APIServices."""
        return Registrar(self.clients, self.watched, EventRecorder(self.host, instance="me"), lambda: TARGET)

    async def reconcile(self) -> float | None:
        """Reconcile once."""
        return await self.reconciler.reconcile(GROUP)

    def condition(self) -> tuple[str, str]:
        """Return the condition of the definition."""
        found = condition_of(self.host.objects[WIDGETS], host_annotations.CONDITION)
        return found.get("reason", ""), found.get("message", "")

    def events(self) -> list[str]:
        """Return the reasons of the events."""
        return [one["reason"] for one in self.host.under("/api/v1/namespaces/default/events").values()]

    async def _diagnosed(self, _group: str) -> str:
        return self.hop


def _unavailable(found: Json) -> Json:
    return found | {"status": {"conditions": [{"type": "Available", "status": "False", "message": "no endpoints"}]}}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Provide a bench."""
    return Bench(monkeypatch)


async def test_registers_own_definitions(bench: Bench) -> None:
    """Register definitions of apiext, record events, and change nothing more."""
    bench.has(definitions=(own(),))
    assert await bench.reconcile() is None
    assert list(bench.host.under(API_SERVICES)) == [NAME]
    assert bench.events() == ["Registered"]

    before = len(bench.host.written())
    assert await bench.reconcile() is None
    assert len(bench.host.written()) == before
    assert bench.taken == []


async def test_ignores_other_groups(bench: Bench) -> None:
    """Send no request for a group without relation to apiext."""
    bench.has(crd(selected=False), api_services=(api_service(),))
    assert await bench.reconcile() is None
    assert bench.host.calls == bench.apiext.calls == []


async def test_keeps_api_services_while_apiext_is_away(bench: Bench) -> None:
    """Ask apiext before an APIService is removed, and keep it without an answer."""
    bench.has(api_services=(registered(),))
    bench.apiext.down = True
    with pytest.raises(ApiError):
        await bench.reconcile()
    assert list(bench.host.under(API_SERVICES)) == [NAME]

    bench.apiext.down = False
    bench.apiext.put_in(WIDGETS, own())
    await bench.reconcile()
    assert list(bench.host.under(API_SERVICES)) == [NAME]

    bench.apiext.objects.clear()
    await bench.reconcile()
    assert list(bench.host.under(API_SERVICES)) == []
    assert bench.events() == ["Removed"]


async def test_waits_for_apiexts_definitions(bench: Bench) -> None:
    """Write nothing before apiext has listed its definitions, except the reason after some attempts."""
    bench.watched.known = False
    bench.has(crd(), api_services=(registered(),))
    assert await bench.reconcile() is not None
    bench.apiext.down = True
    for _ in range(3):
        with pytest.raises(ApiError):
            await bench.reconcile()

    assert bench.condition() == ("Failed", "cannot connect")
    assert bench.events() == ["Failed"]

    bench.has(api_services=(_unavailable(registered()),))
    bench.hop = "connection: refused"
    for _ in range(2):
        with pytest.raises(ApiError):
            await bench.reconcile()
        bench.moment += 2
    assert bench.events() == ["Failed", "NotAvailable"]
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == registered()["spec"]


async def test_follows_the_adoption_steps(bench: Bench) -> None:
    """Route a group as its steps decide, back to the host without a gap and without asking apiext."""
    bench.has(held(), api_services=(api_service(),), definitions=(mirror(),))
    bench.desired = Desired(routing=Routing.APIEXT, after=3.0)
    assert await bench.reconcile() == 3.0
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == registered()["spec"]
    assert bench.condition() == ("Serving", "all is well")

    bench.desired = Desired(routing=Routing.HOST)
    await bench.reconcile()
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == api_service()["spec"]
    assert ("GET", CRDS) not in bench.apiext.calls
    assert bench.events() == ["Serving", "TakenOver", "GivenBack"]


async def test_blocks_groups_with_foreign_api_services(bench: Bench) -> None:
    """Start no take-over of a group with a foreign APIService, report it, and try again."""
    foreign = api_service(labels={}, service={"namespace": "a", "name": "b", "port": 1})
    bench.has(crd(), api_services=(foreign,))
    assert await bench.reconcile() is not None

    assert bench.taken == []
    assert bench.condition()[0] == "Blocked"
    assert "points at Service a/b" in bench.condition()[1]
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == foreign["spec"]


async def test_leaves_groups_of_another_installation_alone(bench: Bench) -> None:
    """Leave a group of another apiext alone, and warn if it is selected here too."""
    theirs: dict[str, Any] = {
        "finalizers": [host_annotations.INSTANCES_FINALIZER],
        "annotations": {host_annotations.SERVICE: "other/apiext"},
    }
    bench.has(
        crd(selected=False, **theirs), api_services=(registered(by="other/apiext", service={"namespace": "other", "name": "apiext"}),)
    )
    bench.watched.guarded = {GROUP}
    assert await bench.reconcile() is None

    bench.has(crd(resourceVersion="2", **theirs))
    assert await bench.reconcile() is not None

    assert bench.taken == []
    assert bench.events() == ["LeftAlone"]
    assert bench.host.objects[WIDGETS]["metadata"]["finalizers"] == [host_annotations.INSTANCES_FINALIZER]
    assert bench.condition() == ("", "")


async def test_reports_an_unreachable_apiext(bench: Bench) -> None:
    """Report the failed check after the grace period, and Serving again afterwards."""
    bench.desired = Desired(routing=Routing.APIEXT)
    bench.has(held(), api_services=(_unavailable(registered()),), definitions=(mirror(),))
    bench.hop = "certificate: it has ended"
    assert await bench.reconcile() == 2.0
    assert bench.condition() == ("Serving", "all is well")
    bench.moment += 2
    assert await bench.reconcile() == 30.0
    assert bench.condition() == ("Failed", f"APIService {NAME} is not available: certificate: it has ended")
    assert "NotAvailable" in bench.events()

    bench.has(api_services=(registered(),))
    assert await bench.reconcile() is None
    assert bench.condition() == ("Serving", "all is well")


async def test_ignores_unavailability_during_a_repair(bench: Bench) -> None:
    """Report no unavailability of an APIService that is being repaired."""
    bench.has(api_services=(_unavailable(registered(versionPriority=1)),), definitions=(own(),))
    assert await bench.reconcile() is None

    assert bench.events() == ["Repaired"]


async def test_releases_terminating_definitions_of_a_foreign_group(bench: Bench) -> None:
    """Hold a terminating definition whose group another server has taken over until its mirror is gone."""
    terminating = crd(deletionTimestamp="now", finalizers=[host_annotations.INSTANCES_FINALIZER, "other"])
    foreign = api_service(labels={}, service={"namespace": "a", "name": "b", "port": 1})
    bench.has(terminating, api_services=(foreign,), definitions=(mirror(),))
    await bench.reconcile()
    assert host_annotations.INSTANCES_FINALIZER in bench.host.objects[WIDGETS]["metadata"]["finalizers"]

    bench.apiext.objects.clear()
    bench.watched.definitions.remove(f"widgets.{GROUP}")
    await bench.reconcile()

    assert bench.host.objects[WIDGETS]["metadata"]["finalizers"] == ["other"]


async def test_cleans_up_after_the_last_definition(bench: Bench) -> None:
    """Remove the APIServices and the policy of a group without definitions."""
    bench.has(api_services=(registered(),))
    bench.watched.guarded.add(GROUP)
    bench.host.put_in(f"{POLICIES}/apiext-{GROUP}", {})

    await bench.reconcile()

    assert (bench.host.under(API_SERVICES), bench.host.under(POLICIES), bench.watched.guarded) == ({}, {}, set())


async def test_follows_stored_versions(bench: Bench) -> None:
    """Let the mirror follow the host's stored versions, also where the host serves the group."""
    bench.has(
        held("v2", "v1") | {"status": {"storedVersions": ["v2"]}},
        definitions=(mirror("v2", "v1", status={"storedVersions": ["v1", "v2"]}),),
    )
    bench.apiext.objects[f"/stored/versions/widgets.{GROUP}"] = {"versions": [], "unknown": 1, "resourceVersion": "1"}
    assert await bench.reconcile() == 5.0

    assert bench.host.objects[WIDGETS]["status"]["storedVersions"] == ["v2", "v1"]


async def test_reports_failures(bench: Bench) -> None:
    """Report a permanent error at once, and a temporary one after several attempts."""
    bench.has(held(), definitions=(mirror(),))
    bench.desired = Desired(routing=Routing.APIEXT)
    bench.host.refused["POST", API_SERVICES] = ApiError("it is overloaded", code=503)
    with pytest.raises(ApiError):
        await bench.reconcile()
    assert bench.condition() == ("Serving", "all is well")

    bench.host.refused["POST", API_SERVICES] = ApiError("apiservices is forbidden", code=403)
    with pytest.raises(ApiError):
        await bench.reconcile()
    assert bench.condition() == ("Failed", "apiservices is forbidden")


async def test_accepts_concurrent_changes(bench: Bench) -> None:
    """Accept a concurrent change, and overwrite nothing that was not read."""
    bench.has(definitions=(own(),), api_services=(registered(versionPriority=1),))
    newer = registered(service={"namespace": "x", "name": "y", "port": 1})
    newer["metadata"]["labels"] = {}
    bench.host.put_in(f"{API_SERVICES}/{NAME}", newer)
    await bench.reconcile()

    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == newer["spec"]
    assert bench.watched.group(GROUP).api_services[NAME]["spec"] == newer["spec"]


async def test_reports_definitions_of_both_once(bench: Bench) -> None:
    """Report once a version that both servers have, and leave it to the host."""
    bench.has(crd(selected=False), api_services=(api_service(),), definitions=(own(),))
    await bench.reconcile()
    await bench.reconcile()

    assert bench.events() == ["LeftAlone"]
    assert bench.host.objects[f"{API_SERVICES}/{NAME}"]["spec"] == api_service()["spec"]


async def test_reads_and_routes_for_steps(bench: Bench) -> None:
    """Read the present group for a step, and write all its APIServices."""
    bench.has(crd(), api_services=(api_service(),), definitions=(mirror(),))
    registrar = bench.registrar()
    bench.host.put_in(WIDGETS, crd("v1", "v2"))
    bench.apiext.objects.clear()

    group = await bench.watched.refresh(GROUP, bench.clients)
    assert (len(group.crds[f"widgets.{GROUP}"]["spec"]["versions"]), group.definitions) == (2, {})
    await registrar.route(GROUP, Routing.APIEXT)
    assert [one["spec"].get("service", {}).get("name") for one in bench.host.under(API_SERVICES).values()] == ["apiext", "apiext"]
    await registrar.route(GROUP, Routing.HOST)
    assert [one["spec"].get("service") for one in bench.host.under(API_SERVICES).values()] == [None, None]


async def test_reports_foreign_api_services_to_steps(bench: Bench) -> None:
    """Raise the reason if a foreign APIService prevents the routing."""
    bench.has(crd(), api_services=(api_service(labels={}, service={"namespace": "a", "name": "b", "port": 1}),), definitions=(mirror(),))
    with pytest.raises(ApiError, match="points at Service a/b"):
        await bench.registrar().route(GROUP, Routing.APIEXT)


@pytest.mark.parametrize("phase", [host_annotations.SERVING, host_annotations.FROZEN, host_annotations.LEAVING])
async def test_restores_the_finalizer(bench: Bench, phase: str) -> None:
    """Restore finalizer and annotation of a definition that was replaced, keep other finalizers, and record an event."""
    bench.has(crd(selected=False, finalizers=["other"]), api_services=(registered(),), definitions=(mirror(phase=phase),))
    await bench.reconcile()

    metadata = bench.host.objects[WIDGETS]["metadata"]
    assert metadata["finalizers"] == ["other", host_annotations.INSTANCES_FINALIZER]
    assert metadata["annotations"] == {host_annotations.SERVICE: str(TARGET.service)}
    assert bench.events() == ["Repaired"]
    assert [*bench.taken[0].held] == [f"widgets.{GROUP}"]

    await bench.reconcile()
    assert bench.events() == ["Repaired"]


async def test_restores_the_annotation(bench: Bench) -> None:
    """Restore an annotation that names another Service while the host sends requests to this one, and no annotation otherwise."""
    theirs = {host_annotations.SERVICE: "other/apiext"}
    bench.has(held(annotations=theirs), api_services=(api_service(),), definitions=(mirror(),))
    await bench.reconcile()
    assert bench.host.objects[WIDGETS]["metadata"]["annotations"] == theirs

    bench.has(api_services=(registered(),))
    await bench.reconcile()
    assert bench.host.objects[WIDGETS]["metadata"]["annotations"] == {host_annotations.SERVICE: str(TARGET.service)}
    assert bench.events() == ["LeftAlone", "Repaired"]


@pytest.mark.parametrize("more", [{"phase": host_annotations.IMPORTING}, {"phase": host_annotations.SERVING, "uid": "uid-of-before"}])
async def test_restores_no_finalizer_without_objects(bench: Bench, more: Json) -> None:
    """Add no finalizer while apiext has copies only, or the objects of an earlier definition of that name."""
    found = mirror(phase=more["phase"])
    if "uid" in more:
        found["metadata"]["annotations"][host_annotations.HOST_UID] = more["uid"]
    bench.has(crd(), definitions=(found,))
    await bench.reconcile()

    assert "finalizers" not in bench.host.objects[WIDGETS]["metadata"]


async def test_reports_failures_on_adopted_definitions(bench: Bench) -> None:
    """Report an error on definitions that lost their label, too."""
    bench.has(crd(selected=False), definitions=(mirror(),))
    bench.host.refused["PATCH", WIDGETS] = ApiError("patch is forbidden", code=403)
    with pytest.raises(ApiError):
        await bench.reconcile()

    assert bench.condition() == ("Failed", "patch is forbidden")
