"""Authorization mode FrontProxy behind a kube-apiserver: the host decides on the requests that it proxies."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from apiext.base.webhook.clientcmd import kubeconfig
from apiext.operator.checks.connections import Connections
from apiext.operator.checks.sequence import GROUP_CHECKS, HOST_CHECKS, run_checks
from apiext.operator.checks.snapshot import CheckTarget, Snapshot
from apiext.operator.checks.verdict import CheckState
from hack.lib.servers.aggregated_cluster import API_SERVICES
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Answer, Caller
from tests.e2e.cluster import GROUP, Cluster, until
from tests.support.builders.crds import widget_crd, widgets_path

pytestmark = pytest.mark.slow
PROXIED: Final = "proxied.example.com"
_REVIEWS: Final = re.compile(r'^apiserver_request_total\{[^}]*resource="subjectaccessreviews"[^}]*\} (\S+)$', re.MULTILINE)
_MERGE: Final = [("Content-Type", "application/merge-patch+json")]
_APPLY: Final = [("Content-Type", "application/apply-patch+yaml")]
_CHANGING: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "storageVersionHash")


@pytest.fixture(scope="module")
def trusting(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Provide a server in mode FrontProxy whose group the host proxies."""
    crds = tmp_path_factory.mktemp("proxied")
    (crds / "widgets.json").write_text(json.dumps(widget_crd(group=PROXIED)))
    flags = ("--authorization-mode=FrontProxy,Webhook", "--etcd-prefix=/proxied")
    with cluster.another_server("trusting", *flags, etcd_url=cluster.etcd.url, crd_dir=crds) as server:
        cluster.register(PROXIED, "v1", server)
        try:
            yield server
        finally:
            cluster.host.must("DELETE", f"{API_SERVICES}/v1.{PROXIED}")


def _rule(*verbs: str) -> dict[str, list[str]]:
    return {"apiGroups": [GROUP, PROXIED], "resources": ["widgets", "widgets/status"], "verbs": list(verbs)}


def _widget(group: str, name: str) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}}


def _reviews(cluster: Cluster) -> float:
    return sum(map(float, _REVIEWS.findall(str(cluster.host.must("GET", "/metrics")))))


def _caused(cluster: Cluster, ask: Callable[[], None]) -> float:
    """Return how many reviews the host has answered during a call."""
    before = _reviews(cluster)
    ask()
    return _reviews(cluster) - before


def _comparable(found: Any) -> Any:
    """Return an answer without the fields that differ between two servers."""
    if isinstance(found, dict):
        return {name: _comparable(member) for name, member in found.items() if name not in _CHANGING}
    if isinstance(found, list | tuple):
        return [_comparable(member) for member in found]
    return found.replace(PROXIED, GROUP) if isinstance(found, str) else found


def _answers(caller: Caller, group: str) -> list[Answer]:
    """Return the answers to requests of every verb, and to some that the host or apiext refuses."""
    widgets, one = widgets_path(group), f"{widgets_path(group)}/proxied"
    return [
        caller.ask("GET", f"/apis/{group}/v1"),
        caller.ask("POST", widgets, _widget(group, "proxied")),
        caller.ask("POST", widgets, _widget(group, "proxied")),
        caller.ask("GET", one),
        caller.ask("GET", f"{widgets}?fieldSelector=metadata.name%3Dproxied"),
        caller.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, _MERGE),
        caller.ask("PATCH", f"{widgets}/applied?fieldManager=x", _widget(group, "applied"), _APPLY),
        caller.ask("GET", f"{widgets}/missing"),
        caller.ask("GET", f"{widgets}?resourceVersion=x"),
        caller.ask("GET", f"{widgets}/a%20b"),
        caller.ask("PUT", f"{one}/status", _widget(group, "proxied") | {"status": {}}),
        caller.ask("DELETE", f"{widgets}/applied"),
        caller.ask("DELETE", one),
    ]


def test_answers_as_with_reviews(cluster: Cluster, trusting: ApiextServer) -> None:
    """Give users with and without rights the answers of a server that reviews each request; the host alone decides."""
    cluster.grant("e2e-proxied", [_rule("*")], "proxied-ann")
    ann, eve = (cluster.through_host(name, "readers") for name in ("proxied-ann", "proxied-eve"))
    until(lambda: all(ann.ask("GET", widgets_path(group))[0] == 200 for group in (GROUP, PROXIED)))

    for caller in (ann, eve):
        assert _comparable(_answers(caller, PROXIED)) == _comparable(_answers(caller, GROUP))
    assert eve.ask("GET", widgets_path(PROXIED))[0] == 403
    assert Caller(trusting.url, trusting.ca, cluster.plane.authority.issue("proxied-eve")).ask("GET", widgets_path(PROXIED))[0] == 403


@pytest.mark.usefixtures("trusting")
def test_asks_only_what_the_host_has_not_decided(cluster: Cluster) -> None:
    """Send no review for what the host proxies, but one for the creation by an apply, which the host does not know of."""
    cluster.grant("e2e-patching", [_rule("get", "patch")], "proxied-bob")
    bob = cluster.through_host("proxied-bob")
    widgets = widgets_path(PROXIED)
    until(lambda: bob.ask("GET", f"{widgets}/missing")[0] == 404)
    names = (f"new-{number}" for number in itertools.count())

    def get() -> None:
        assert [bob.ask("GET", f"{widgets}/{next(names)}")[0] for _ in range(5)] == [404] * 5

    def apply() -> None:
        name = next(names)
        code, answer = bob.ask("PATCH", f"{widgets}/{name}?fieldManager=x", _widget(PROXIED, name), _APPLY)
        assert code == 403
        assert answer["message"].startswith(f'widgets.proxied.example.com "{name}" is forbidden')

    # the host itself asks servers for their documents now and then, which are reviewed
    until(lambda: _caused(cluster, get) == 0, "requests without a review")
    until(lambda: _caused(cluster, apply) == 1, "an apply with one review")


async def test_doctor_accepts_the_only_front_proxy(cluster: Cluster, trusting: ApiextServer) -> None:
    """Find the mode safe while the host's own front proxy has the only allowed name."""
    load = kubeconfig.load(cluster.plane.kubeconfig)
    connections = Connections(lambda: load)
    target = CheckTarget(server=trusting.url, authority=cluster.authority.cert.read_text())
    try:
        checks = {"conditions": HOST_CHECKS["conditions"], "authorization": GROUP_CHECKS["authorization"]}
        conditions, found = await run_checks(Snapshot(target, connections), checks, PROXIED)
    finally:
        await connections.close()

    assert (conditions.verdict.state, conditions.verdict.what) == (CheckState.OK, "it authorizes without conditions")
    assert (found.verdict.state, "no other front proxy" in found.verdict.what) == (CheckState.OK, True)
    told = Caller(trusting.url, trusting.ca, cluster.plane.admin).must("GET", "/readyz?verbose")
    assert "[+]conditional-authorization ok\n" in told
