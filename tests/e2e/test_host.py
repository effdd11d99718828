"""What a kube-apiserver does that adoption and hand-over rely on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import pytest

from apiext.meta.host_annotations import REVISION_BASE
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.watch_reset import touch
from apiext.operator.api_clients import Api
from apiext.webhook import kubeconfig
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.servers.caller import Caller
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.support.builders.stored_objects import multiply
from tests.support.clients.client import Client, Watch
from tests.support.servers.in_process import definition

pytestmark = pytest.mark.slow
GROUP: Final = "host.example.com"
ALL: Final = f"/apis/{GROUP}/v1/widgets"
WHERE: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
APPLY: Final = [("Content-Type", "application/apply-patch+yaml")]
NEW: Final = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "new"}, "spec": {"replicas": 1}}

WRITES: Final[list[tuple[str, str, Any, list[tuple[str, str]]]]] = [
    ("POST", "", NEW, []),
    ("POST", "?dryRun=All", NEW, []),
    ("PATCH", "/one", {}, MERGE),
    ("PATCH", "/one", {"spec": {"replicas": 2}}, MERGE),
    ("PATCH", "/one/status", {"status": {"replicas": 2}}, MERGE),
    ("PATCH", "/one/scale", {"spec": {"replicas": 2}}, MERGE),
    ("PATCH", "/new?fieldManager=a", NEW, APPLY),
    ("DELETE", "/one", None, []),
    ("DELETE", "", None, []),
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A kube-apiserver with a definition of its own and one object."""
    with ControlPlane(tmp_path_factory.mktemp("host"), durable=False) as started:
        host = admin(started)
        host.must("POST", CRDS, definition(group=GROUP))
        until(lambda: host.ask("POST", WHERE, {**NEW, "metadata": {"name": "one"}})[0] == 201)
        yield started


def admin(plane: ControlPlane) -> Caller:
    """Its administrator."""
    return Caller(plane.url, plane.ca, plane.admin)


def operate(plane: ControlPlane, work: Callable[[Api], Awaitable[None]]) -> None:
    """Do something as an operator does."""

    async def run() -> None:
        api = Api(kubeconfig.load(plane.kubeconfig))
        try:
            await work(api)
        finally:
            await api.close()

    asyncio.run(run())


def watch(plane: ControlPlane, revision: object = "", seconds: int = 20) -> Watch:
    """A watch of the definition's instances, from now on unless from a revision."""
    with Client(plane) as client:
        start = revision or client.must("GET", ALL)["metadata"]["resourceVersion"]
        return client.watch(ALL, resourceVersion=start, timeoutSeconds=seconds)


def test_the_policy_refuses(plane: ControlPlane) -> None:
    """Every kind of write is refused with 403, the policy and its message; reads go on. What it lets go of, it does at once."""
    host = admin(plane)

    async def bite(api: Api) -> None:
        policy = Policy(api, GROUP)
        await policy.ensure(["widgets"])
        await policy.bites(["widgets"])

    operate(plane, bite)
    answers = [host.ask(method, WHERE + path, body, headers) for method, path, body, headers in WRITES]
    read = host.ask("GET", f"{WHERE}/one")[0]
    operate(plane, lambda api: Policy(api, GROUP).remove())
    free = host.ask("PATCH", f"{WHERE}/one", {"spec": {"replicas": 5}}, MERGE)[0]

    assert [(code, answer["reason"]) for code, answer in answers] == [(403, "Forbidden")] * len(WRITES)
    assert all(f"'apiext-{GROUP}' denied request: apiext serves group {GROUP}" in answer["message"] for _, answer in answers)
    assert (read, free) == (200, 200)


def test_touching_ends_watches(plane: ControlPlane) -> None:
    """A category that comes and goes ends watches without an event, other metadata does not; the definition is as before."""
    host, name = admin(plane), f"{CRDS}/widgets.{GROUP}"
    before = host.must("GET", name)["spec"]
    with watch(plane) as events:
        host.must("PATCH", name, {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}, MERGE)
        until(lambda: host.ask("PATCH", f"{WHERE}/one", {"spec": {"replicas": 7}}, MERGE)[0] == 200)
        assert events.take(1)[0]["object"]["spec"]["replicas"] == 7

        operate(plane, lambda api: touch(api, host.must("GET", name)))

        assert list(events) == []
    after = host.must("GET", name)
    assert after["spec"] == before
    assert "categories" not in after["status"]["acceptedNames"]


def test_revisions_of_the_future(plane: ControlPlane) -> None:
    """A watch from a revision far greater than any is told nothing at all, and lists are 504: clients must not come with one."""
    host = admin(plane)
    until(lambda: host.ask("GET", ALL)[0] == 200)
    with watch(plane, REVISION_BASE + 1, seconds=1) as events:
        assert events.status == 200
        host.must("PATCH", f"{WHERE}/one", {"spec": {"replicas": 9}}, MERGE)
        assert list(events) == []

    code, answer = host.ask("GET", f"{ALL}?resourceVersion={REVISION_BASE + 1}")
    assert (code, answer["reason"]) == (504, "Timeout")
    assert f"Too large resource version: {REVISION_BASE + 1}" in answer["message"]


def test_objects_written_into_etcd(plane: ControlPlane) -> None:
    """What is written into the host's etcd comes to its watches as its own writes do, and is read with its uid."""
    host = admin(plane)
    until(lambda: host.ask("GET", ALL)[0] == 200)
    with watch(plane) as events:
        multiply(plane.etcd_url, f"/registry/{GROUP}/widgets/default/one", ["copy"])
        [event] = events.take(1)

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "copy")
    found = host.must("GET", f"{WHERE}/copy")
    assert found == event["object"]
    assert json.dumps(found["metadata"]["uid"]) == '"00000000-0000-0000-0000-000000000001"'
