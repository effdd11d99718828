"""Conversion by rules in a server process: kubectl and the kubernetes client, from stored Conversions and from files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes
import pytest

from apiext.resources.conversion.rules.definition import conversion_definition
from hack.lib.differential.pair import Side, Step, wait_for_code
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until
from tests.support.builders.converted_widgets import conversion, new_widget, old_widget, widgets_crd

CARRIED: Final = "conversion.apiext.dev/carried"
V1: Final = "/apis/example.com/v1/namespaces/default/widgets"
V2: Final = "/apis/example.com/v2/namespaces/default/widgets"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONVERSIONS: Final = "/apis/conversions.apiext.dev/v1alpha1/conversions"
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
FULL: Final[dict[str, Any]] = {"capacity": 3, "image": "a:b", "zone": "z", "ports": [{"name": "x", "port": 1, "protocol": "TCP"}]}


@pytest.fixture(scope="module")
def side(server: ApiextServer) -> Iterator[Side]:
    """Return a connection to a server with a stored Conversion of widgets."""
    found = Side(server.url, server.ssl_context())
    for path, body in ((CRDS, conversion_definition()), (CRDS, widgets_crd())):
        assert found.raw(Step("POST", path, body))[0].status == 201
    wait_for_code(found, Step("GET", CONVERSIONS), 200)
    wait_for_code(found, Step("GET", V2), 200)
    assert found.raw(Step("POST", CONVERSIONS, conversion()))[0].status == 201
    _create(found, new_widget("probe", capacity=1))
    until(lambda: found.ask(Step("GET", f"{V1}/probe")).body["spec"] == {"size": 1}, "the rules are used")
    yield found
    found.close()


@pytest.fixture(scope="module")
def kubectl(server: ApiextServer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Return kubectl for the server."""
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


def _create(side: Side, body: Any) -> None:
    path = V2 if body["apiVersion"].endswith("v2") else V1
    answer = side.ask(Step("POST", path, body))
    assert answer.code == 201, answer.body


def _file(folder: Path, *documents: Any) -> str:
    path = folder / "documents.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)}))
    return str(path)


def test_kubectl_at_the_old_version(side: Side, kubectl: Kubectl, tmp_path: Path) -> None:
    """Keep what the old version lacks through kubectl replace, patch, edit, and both kinds of apply."""
    _create(side, new_widget("ctl", **FULL))
    old = kubectl.json("get", "widgets.v1.example.com", "ctl")
    del old["metadata"]["annotations"]
    old["spec"]["size"] = 4
    kubectl("replace", "-f", _file(tmp_path, old))
    kubectl("patch", "widgets.v1.example.com", "ctl", "--type=merge", "-p", '{"spec":{"image":"c:d"}}')
    kubectl("edit", "widgets.v1.example.com", "ctl", EDITOR='sed -i "s/size: 4/size: 5/"')
    kubectl("apply", "-f", _file(tmp_path, old_widget("ctl", size=6)))
    kubectl("apply", "-f", _file(tmp_path, old_widget("ctl", size=7)))
    kubectl("apply", "--server-side", "--force-conflicts", "-f", _file(tmp_path, old_widget("ctl", size=8, image="e:f")))
    shown = kubectl.json("get", "widgets.v2.example.com", "ctl", "--show-managed-fields")

    assert shown["spec"] == FULL | {"capacity": 8, "image": "e:f"}
    assert CARRIED not in shown["metadata"]["annotations"]
    assert CARRIED not in json.dumps(shown["metadata"]["managedFields"])


def test_the_kubernetes_client(side: Side, server: ApiextServer) -> None:
    """Keep it when the kubernetes client replaces a whole object that it made itself."""
    _create(side, new_widget("client", **FULL))
    connected = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    widgets = kubernetes.client.CustomObjectsApi(connected)
    place = ("example.com", "v1", "default", "widgets")
    found: Any = widgets.get_namespaced_custom_object(*place, "client")
    body = old_widget("client", size=9, image="x", ports=found["spec"]["ports"])
    body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
    widgets.replace_namespaced_custom_object(*place, "client", body)
    connected.rest_client.pool_manager.clear()
    connected.close()

    assert side.ask(Step("GET", f"{V2}/client")).body["spec"] == FULL | {"capacity": 9, "image": "x"}


def test_lists_and_watches(side: Side) -> None:
    """Show the same objects in lists and in the initial events of watches at each version."""
    _create(side, new_widget("listed", **FULL))
    for path in (V1, V2):
        listed = json.loads(side.raw(Step("GET", path))[1])["items"]
        _, data = side.raw(Step("GET", f"{path}?watch=true&resourceVersion=0&timeoutSeconds=1"))
        events = [json.loads(line) for line in data.splitlines()]

        assert {event["object"]["metadata"]["name"]: event["object"] for event in events} == {
            item["metadata"]["name"]: item for item in listed
        }
        assert [CARRIED in one["metadata"].get("annotations", {}) for one in listed if one["metadata"]["name"] == "listed"] == [path is V1]


def test_what_was_removed_does_not_return(side: Side, kubectl: Kubectl, tmp_path: Path) -> None:
    """Show nothing of a removed spec once another one is applied at the storage version; a dry run removes nothing."""
    _create(side, old_widget("gone", size=1, legacy="x"))
    removal = ("patch", "widgets.v2.example.com", "gone", "--type=json", "-p", '[{"op":"remove","path":"/spec"}]')
    tried = kubectl.json(*removal, "--dry-run=server")
    left = kubectl.json("get", "widgets.v1.example.com", "gone")
    kubectl(*removal)
    kubectl("apply", "--server-side", "-f", _file(tmp_path, new_widget("gone", capacity=2)))
    shown = [kubectl.json("get", f"widgets.{version}.example.com", "gone") for version in ("v1", "v2")]

    assert CARRIED not in tried["metadata"].get("annotations", {})
    assert left["spec"] == {"size": 1, "legacy": "x"}
    assert [one["spec"] for one in shown] == [{"size": 2}, {"capacity": 2}]
    assert all(CARRIED not in one["metadata"].get("annotations", {}) for one in shown)


def test_changed_rules_and_storage_version(own_server: ApiextServer) -> None:
    """Keep everything when the rules and the storage version change, objects are rewritten, and the server starts again."""
    side = Side(own_server.url, own_server.ssl_context())
    for body in (conversion_definition(), widgets_crd()):
        assert side.raw(Step("POST", CRDS, body))[0].status == 201
    wait_for_code(side, Step("GET", CONVERSIONS), 200)
    wait_for_code(side, Step("GET", V2), 200)
    assert side.ask(Step("POST", CONVERSIONS, conversion())).code == 201
    _create(side, new_widget(**FULL))
    until(lambda: "size" in side.ask(Step("GET", f"{V1}/a")).body["spec"], "the rules are used")
    side.ask(Step("PATCH", f"{V1}/a", {"spec": {"legacy": "x"}}, MERGE))
    rules = {"rename": {"path": "spec.size", "to": "capacity"}}, {"copy": {"from": "spec.image", "to": "spec.zone"}}
    assert side.ask(Step("PATCH", f"{CONVERSIONS}/widgets.example.com", {"spec": conversion(*rules)["spec"]}, MERGE)).code == 200
    side.ask(Step("PATCH", f"{CRDS}/widgets.example.com", {"spec": widgets_crd(storage="v1")["spec"]}, MERGE))
    side.ask(Step("PATCH", f"{V2}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE))
    side.close()
    own_server.restart()
    side = Side(own_server.url, own_server.ssl_context())

    assert side.ask(Step("GET", f"{V2}/a")).body["spec"] == FULL
    assert side.ask(Step("GET", f"{V1}/a")).body["spec"]["legacy"] == "x"
    side.close()


def test_a_broken_file_at_the_start(tmp_path: Path) -> None:
    """Convert nothing without the rules of a file that cannot be parsed any more when the server starts again."""
    crds = tmp_path / "crds"
    crds.mkdir()
    rules = crds / "rules.json"
    rules.write_text(json.dumps(conversion()))
    _file(crds, widgets_crd())
    with ApiextServer(tmp_path, crd_dir=crds) as server:
        side = Side(server.url, server.ssl_context())
        _create(side, new_widget(**FULL))
        assert side.ask(Step("GET", f"{V1}/a")).code == 200
        side.close()
        rules.write_text(json.dumps(conversion())[:-1])
        server.restart()
        side = Side(server.url, server.ssl_context())
        refused = side.ask(Step("PATCH", f"{V1}/a", {"spec": {"size": 4}}, MERGE))
        rules.write_text(json.dumps(conversion()))
        until(lambda: side.ask(Step("PATCH", f"{V1}/a", {"spec": {"size": 4}}, MERGE)).code == 200, "the repaired file is read")
        found = side.ask(Step("GET", f"{V2}/a")).body["spec"]
        side.close()

    assert refused.code == 500
    assert "conversion rules may be in a file that cannot be read: rules.json" in refused.body["message"]
    assert found == FULL | {"capacity": 4}


def test_files(tmp_path: Path) -> None:
    """Use the Conversions of files from the first request, follow changes, name problems, and end with the file."""
    crds = tmp_path / "crds"
    crds.mkdir()
    _file(crds, widgets_crd(), conversion())
    with ApiextServer(tmp_path, crd_dir=crds) as server:
        side = Side(server.url, server.ssl_context())
        _create(side, old_widget(size=1))
        first = side.ask(Step("GET", f"{V2}/a")).body["spec"]
        _file(crds, widgets_crd(), conversion({"rename": {"path": "spec[", "to": "x"}}))
        until(lambda: side.ask(Step("GET", f"{V1}/a")).code == 500, "the changed file is read")
        ready = side.raw(Step("GET", "/readyz?verbose"))[1].decode()
        metrics = side.raw(Step("GET", "/metrics"))[1].decode()
        (crds / "documents.json").unlink()
        until(lambda: side.ask(Step("GET", f"{V1}/a")).code == 200, "the removed file counts no more")
        last = side.ask(Step("GET", f"{V1}/a")).body["spec"]
        side.close()

    assert (first, last) == ({"capacity": 1}, {})
    assert "documents.json: Conversion widgets.example.com: spec.spokes[0].rules[0].rename.path" in ready
    labels = '{crd_name="widgets.example.com",from_version="v1",succeeded="true",to_version="v2"}'
    assert f"apiext_crd_conversion_rules_duration_seconds_count{labels}" in metrics
