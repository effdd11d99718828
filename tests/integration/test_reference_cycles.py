"""What a server leaves to the garbage collector, whose full runs hold all requests: nothing."""

import json
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until
from tests.support.builders import admission
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.clients.client import CRDS, MERGE_PATCH, Client
from tests.support.servers import garbage_report
from tests.support.servers.garbage_report import ANSWER, QUESTION

pytestmark = pytest.mark.slow
GROUP: Final = "cycles.example.com"
PATH: Final = widgets_path(GROUP)
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
Report = Callable[[], dict[str, int]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server that reports its garbage."""
    folder = tmp_path_factory.mktemp("reporting")
    own = ApiextServer(folder)
    at = own.process.command.index("apiext")
    own.process.command[at : at + 1] = [garbage_report.__name__, str(folder)]
    with own:
        yield own


@pytest.fixture
def report(server: ApiextServer) -> Report:
    """Return the function that asks for the garbage since its last call."""

    def ask() -> dict[str, int]:
        answer = server.folder / ANSWER
        answer.unlink(missing_ok=True)
        (server.folder / QUESTION).write_text("?")
        until(answer.exists)
        found: dict[str, int] = json.loads(answer.read_text())
        return found

    return ask


@pytest.fixture(scope="module")
def kubectl(server: ApiextServer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Return a client over HTTP/2."""
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


def _define(client: Client) -> None:
    client.define(widget_crd(group=GROUP, served=("v1", "v2")))
    rule = {"x-kubernetes-validations": [{"rule": "self.replicas != 13"}]}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}} | rule}}
    client.define(
        widget_crd(
            "ruled", "Ruled", group=GROUP, versions=[{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
        )
    )


def _use(client: Client, kubectl: Kubectl, namespace: str) -> None:
    """Send requests of all kinds, over both versions of HTTP, and wrong ones."""
    path = widgets_path(GROUP, namespace)
    for name in ("a", "b"):
        client.must("POST", path, widget(name, group=GROUP, replicas=1))
        assert client.ask("POST", path, widget(name, group=GROUP)).status == 409
    client.must("PATCH", f"{path}/a", {"spec": {"replicas": 2}}, MERGE_PATCH)
    client.must("PATCH", f"{path}/a?fieldManager=m&force=true", widget("a", group=GROUP, size="l"), APPLY)
    assert client.ask("PATCH", f"{path}/b?fieldManager=m&force=true", widget("b", group=GROUP, replicas="x"), APPLY).status == 500
    assert client.ask("PATCH", f"{path}/b", {"spec": {"replicas": "x"}}, MERGE_PATCH).status == 422
    assert client.ask("POST", path, b"{").status == 400
    assert client.ask("GET", f"{path}/none").status == 404
    ruled = {"apiVersion": f"{GROUP}/v1", "kind": "Ruled", "metadata": {"name": "r"}, "spec": {"replicas": 13}}
    assert client.ask("POST", f"/apis/{GROUP}/v1/namespaces/{namespace}/ruled", ruled).status == 422
    with client.watch(path, timeoutSeconds=60) as watch:
        assert len(watch.take(2)) == 2
    for version in ("v1", "v2"):
        client.must("GET", path.replace("/v1/", f"/{version}/"), headers=TABLE)
    client.must("GET", f"/openapi/v3/apis/{GROUP}/v1")
    client.must("GET", "/openapi/v2")
    here = ("-n", namespace)
    kubectl("get", *here, "widgets", "-o", "wide")
    kubectl("label", *here, "widget", "a", "x=y")
    kubectl("scale", *here, "widget/a", "--replicas=5")
    kubectl.refused("get", *here, "widget", "none")
    with kubectl.watching("get", *here, "widgets", "-w", "-o", "name") as lines:
        next(lines)
    kubectl("delete", *here, "widgets", "--all")


def _undefine(client: Client) -> None:
    for name in ("widgets", "ruled"):
        client.must("DELETE", f"{CRDS}/{name}.{GROUP}")
        client.until_gone(CRDS, f"{name}.{GROUP}")


def test_requests_and_former_definitions_leave_no_cycles(report: Report, client: Client, kubectl: Kubectl) -> None:
    """Free requests, connections and all that belongs to a definition as soon as they end."""
    kubectl("create", "namespace", "first")
    kubectl("create", "namespace", "second")
    _define(client)
    _use(client, kubectl, "first")
    # the classes that modules replace while they are imported are out of the way now
    report()
    _use(client, kubectl, "second")
    assert report() == {}
    client.merge(f"{CRDS}/widgets.{GROUP}", {"spec": {"versions": widget_crd(group=GROUP)["spec"]["versions"]}})
    client.until(CRDS, f"widgets.{GROUP}", lambda _: client.ask("GET", PATH.replace("/v1/", "/v2/")).status == 404)
    _undefine(client)
    assert report() == {}


def test_admission_leaves_no_cycles(report: Report, client: Client) -> None:
    """Free what belongs to policies and configurations of webhooks."""
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration")
    rule = admission.rule("widgets", group=GROUP)
    hook = admission.hook("a.example.com", rule, failurePolicy="Ignore", clientConfig={"url": "https://127.0.0.1:9/x"})
    objects = (
        admission.validating_policy("cycles", "object.metadata.name != 'bad'", rules=[rule]),
        admission.validating_binding("cycles", "cycles"),
        admission.validating("cycles", hook),
    )
    for turn in range(2):
        if turn:
            report()
        _define(client)
        for kind, one in zip(kinds, objects, strict=True):
            client.must("POST", admission.collection(kind), one)
        until(lambda: client.ask("POST", f"{PATH}?dryRun=All", widget("bad", group=GROUP)).status == 422)
        client.must("POST", PATH, widget("good", group=GROUP))
        for kind in reversed(kinds):
            client.must("DELETE", f"{admission.collection(kind)}/cycles")
        _undefine(client)
    assert report() == {}
