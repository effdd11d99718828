"""Where configurations of admission come from on standalone servers: their own store, other servers on it, and files."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import CRDS

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
POLICIES: Final = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS: Final = f"{ADMISSION}/validatingadmissionpolicybindings"
GROUP: Final = "admitted.example.com"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
DRY: Final = f"{WIDGETS}?dryRun=All"
V1: Final = {"apiVersion": "admissionregistration.k8s.io/v1"}


class Server:
    """A server and its administrator."""

    def __init__(self, server: ApiextServer) -> None:
        self.process = server

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the body of the response, {} before the resource is served."""
        data = json.dumps(body).encode() if body is not None else None
        status, _, answer = self.process.request(method, path, data, headers={"Content-Type": "application/json"})
        return status, json.loads(answer) if answer.startswith(b"{") else {}

    def must(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed; return the body of the response."""
        status, answer = self.ask(method, path, body)
        assert status < 300, (method, path, answer)
        return answer

    def admits(self, name: str = "new") -> bool:
        """Return whether a widget may be created."""
        return self.ask("POST", DRY, widget(name, group=GROUP))[0] == 201


def policy(name: str, *, resource: str = "widgets", group: str = GROUP, message: str = "no", filler: int = 0) -> dict[str, Any]:
    """Return a policy that refuses every object."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
    validations = [{"expression": "false", "message": message}, *({"expression": "true"} for _ in range(filler))]
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    return {**V1, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def binding(name: str, to: str = "") -> dict[str, Any]:
    """Return a binding of a policy."""
    spec = {"policyName": to or name, "validationActions": ["Deny"]}
    return {**V1, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module", params=["sqlite", "etcd"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server with a CRD."""
    etcd: Etcd | None = request.getfixturevalue("etcd") if request.param == "etcd" else None
    folder = tmp_path_factory.mktemp("admission")
    with ApiextServer(folder, etcd_url=etcd.url if etcd else None, etcd_prefix=f"/{uuid.uuid4().hex}") as process:
        found = Server(process)
        found.must("POST", CRDS, widget_crd(group=GROUP))
        until(found.admits)
        yield found


def test_each_write_holds_for_the_next_request(server: Server) -> None:
    """Apply a policy, its binding, and the deletion of either from the next request on."""
    for number in range(3):
        name = f"next-{number}"
        server.must("POST", POLICIES, policy(name))
        assert server.admits()
        server.must("POST", BINDINGS, binding(name))
        status, refused = server.ask("POST", DRY, widget("new", group=GROUP))
        assert status == 422
        assert (
            refused["message"]
            == f"widgets.{GROUP} \"new\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: no"
        )
        server.must("DELETE", f"{(POLICIES, BINDINGS)[number % 2]}/{name}")
        assert server.admits()
        server.must("DELETE", f"{(BINDINGS, POLICIES)[number % 2]}/{name}")


def test_large_policies_apply(server: Server) -> None:
    """Apply a policy that a worker process has checked."""
    server.must("POST", BINDINGS, binding("large"))
    server.must("POST", POLICIES, policy("large", filler=3000))
    until(lambda: not server.admits())
    server.must("DELETE", f"{POLICIES}/large")
    until(server.admits)
    server.must("DELETE", f"{BINDINGS}/large")


def test_definitions_are_admitted(server: Server) -> None:
    """Apply policies to definitions."""
    server.must("POST", POLICIES, policy("crds", resource="customresourcedefinitions", group="apiextensions.k8s.io"))
    server.must("POST", BINDINGS, binding("crds"))
    status, refused = server.ask("POST", CRDS, widget_crd(group="other.example.com"))

    assert (status, refused["message"].rpartition(": ")[2]) == (422, "no")
    for collection in (BINDINGS, POLICIES):
        server.must("DELETE", f"{collection}/crds")
    server.must("POST", f"{CRDS}?dryRun=All", widget_crd(group="other.example.com"))


def test_restart(server: Server) -> None:
    """Apply stored policies from the first request after a restart."""
    server.must("POST", POLICIES, policy("kept"))
    server.must("POST", BINDINGS, binding("kept"))

    server.process.restart()

    assert not server.admits()
    server.must("DELETE", f"{BINDINGS}/kept")
    assert server.admits()
    server.must("DELETE", f"{POLICIES}/kept")


def test_servers_on_one_store(etcd: Etcd, tmp_path: Path) -> None:
    """Apply on a server what another one has written, although neither had any policy at its start."""
    prefix = f"/{uuid.uuid4().hex}"
    with (
        ApiextServer(tmp_path / "a", etcd_url=etcd.url, etcd_prefix=prefix) as first,
        ApiextServer(tmp_path / "b", etcd_url=etcd.url, etcd_prefix=prefix) as second,
    ):
        writer, reader = Server(first), Server(second)
        writer.must("POST", CRDS, widget_crd(group=GROUP))
        until(reader.admits)
        writer.must("POST", POLICIES, policy("shared"))
        writer.must("POST", BINDINGS, binding("shared"))
        until(lambda: not reader.admits())
        writer.must("DELETE", f"{BINDINGS}/shared")
        until(reader.admits)


def test_files(tmp_path: Path) -> None:
    """Apply the policies of a folder, follow its files, and count the loads."""
    folder = tmp_path / "policies"
    folder.mkdir()
    _write(folder / "a.yaml", policy("a.static.k8s.io", message="first"), binding("a.static.k8s.io"))
    settings = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyConfiguration",
        "staticManifestsDir": str(folder),
    }
    plugins = [{"name": "ValidatingAdmissionPolicy", "configuration": settings}]
    file = tmp_path / "admission.yaml"
    file.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins}))
    with ApiextServer(tmp_path / "server", extra_args=(f"--admission-control-config-file={file}",)) as process:
        server = Server(process)
        server.must("POST", CRDS, widget_crd(group=GROUP))

        def refusal() -> str:
            return str(server.ask("POST", DRY, widget("new", group=GROUP))[1].get("message", ""))

        until(lambda: refusal().endswith("'a.static.k8s.io' denied request: first"))
        _write(folder / "a.yaml", policy("a.static.k8s.io", message="second"), binding("a.static.k8s.io"))
        until(lambda: refusal().endswith(": second"))
        _write(folder / "a.yaml", policy("a"))
        until(lambda: "automatic_reloads_total{" in _metrics(process) and 'status="failure"' in _metrics(process))
        assert refusal().endswith(": second")
        assert server.must("GET", POLICIES)["items"] == []
        status, refused = server.ask("POST", POLICIES, policy("b.static.k8s.io"))
        assert (status, refused["reason"]) == (422, "Invalid")
        (folder / "a.yaml").unlink()
        until(server.admits)
        assert "\napiserver_manifest_admission_config_controller_last_config_info{" in _metrics(process)


def _write(path: Path, *documents: dict[str, Any]) -> None:
    path.write_text("\n---\n".join(map(json.dumps, documents)))


def _metrics(process: ApiextServer) -> str:
    text: bytes = process.request("GET", "/metrics")[2]
    return text.decode()
