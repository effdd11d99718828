"""Behaviour of kube-apiserver that take-over and hand-over rely on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import pytest

from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.base.webhook.clientcmd import kubeconfig
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.watch_reset import reset_watches
from apiext.operator.api_clients import ApiClient
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.builders.stored_objects import multiply
from tests.support.clients.client import Client, Watch

pytestmark = pytest.mark.slow
GROUP: Final = "host.example.com"
ALL: Final = f"/apis/{GROUP}/v1/widgets"
WHERE: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
APPLY: Final = [("Content-Type", "application/apply-patch+yaml")]
NEW: Final = widget("new", group=GROUP, replicas=1)

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
    """Provide a kube-apiserver with a definition of its own and one object."""
    with ControlPlane(tmp_path_factory.mktemp("host"), durable=False) as started:
        host = started.client
        host.must("POST", CRDS, widget_crd(group=GROUP))
        until(lambda: host.ask("POST", WHERE, {**NEW, "metadata": {"name": "one"}})[0] == 201)
        yield started


def operate(plane: ControlPlane, work: Callable[[ApiClient], Awaitable[None]]) -> None:
    """Run a coroutine with the operator's client."""

    async def run() -> None:
        api = ApiClient(kubeconfig.load(plane.kubeconfig))
        try:
            await work(api)
        finally:
            await api.close()

    asyncio.run(run())


def watch(plane: ControlPlane, revision: object = "", seconds: int = 20) -> Watch:
    """Watch the definition's instances, from now on unless from a revision."""
    with Client(plane) as client:
        start = revision or client.must("GET", ALL)["metadata"]["resourceVersion"]
        return client.watch(ALL, resourceVersion=start, timeoutSeconds=seconds)


def test_policy_denies_all_writes(plane: ControlPlane) -> None:
    """Deny every kind of write with 403 and the policy's message, serve reads, and accept writes after the removal."""
    host = plane.client

    async def bite(api: ApiClient) -> None:
        policy = Policy(api, GROUP, "")
        await policy.ensure(["widgets"])
        await policy.wait_until_enforced(["widgets"])

    operate(plane, bite)
    answers = [host.ask(method, WHERE + path, body, headers) for method, path, body, headers in WRITES]
    read = host.ask("GET", f"{WHERE}/one")[0]
    operate(plane, lambda api: Policy(api, GROUP, "").remove())
    free = host.ask("PATCH", f"{WHERE}/one", {"spec": {"replicas": 5}}, MERGE)[0]

    assert [(code, answer["reason"]) for code, answer in answers] == [(403, "Forbidden")] * len(WRITES)
    assert all(f"'apiext-{GROUP}' denied request: apiext serves group {GROUP}" in answer["message"] for _, answer in answers)
    assert (read, free) == (200, 200)


def test_category_change_ends_watches(plane: ControlPlane) -> None:
    """End watches without an event after a change of categories, but not after other metadata."""
    host, name = plane.client, f"{CRDS}/widgets.{GROUP}"
    before = host.must("GET", name)["spec"]
    with watch(plane) as events:
        host.must("PATCH", name, {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}, MERGE)
        until(lambda: host.ask("PATCH", f"{WHERE}/one", {"spec": {"replicas": 7}}, MERGE)[0] == 200)
        assert events.take(1)[0]["object"]["spec"]["replicas"] == 7

        operate(plane, lambda api: reset_watches(api, host.must("GET", name)))

        assert list(events) == []
    after = host.must("GET", name)
    assert after["spec"] == before
    assert "categories" not in after["status"]["acceptedNames"]


def test_ignores_watches_of_future_revisions(plane: ControlPlane) -> None:
    """Send no event to a watch from a far greater revision, and answer such lists with 504."""
    host = plane.client
    until(lambda: host.ask("GET", ALL)[0] == 200)
    with watch(plane, REVISION_BASE + 1, seconds=1) as events:
        assert events.status == 200
        host.must("PATCH", f"{WHERE}/one", {"spec": {"replicas": 9}}, MERGE)
        assert list(events) == []

    code, answer = host.ask("GET", f"{ALL}?resourceVersion={REVISION_BASE + 1}")
    assert (code, answer["reason"]) == (504, "Timeout")
    assert f"Too large resource version: {REVISION_BASE + 1}" in answer["message"]


def test_follows_writes_to_its_etcd(plane: ControlPlane) -> None:
    """Send objects written to the host's etcd to its watches, and read them with their uids."""
    host = plane.client
    until(lambda: host.ask("GET", ALL)[0] == 200)
    with watch(plane) as events:
        multiply(plane.etcd_url, f"/registry/{GROUP}/widgets/default/one", ["copy"])
        [event] = events.take(1)

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "copy")
    found = host.must("GET", f"{WHERE}/copy")
    assert found == event["object"]
    assert json.dumps(found["metadata"]["uid"]) == '"00000000-0000-0000-0000-000000000001"'
