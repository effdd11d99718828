"""A cluster with apiext behind its kube-apiserver, which has the rights that the documents ask for and no others."""

import base64
import http.client
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from tests.e2e.caller import Caller
from tests.support.certificates import Authority
from tests.support.controlplane import ControlPlane
from tests.support.etcd import Etcd
from tests.support.inprocess import definition
from tests.support.server import ApiextServer

GROUP: Final = "aggregated.example.com"
PLAIN: Final = "plain.example.com"
"""The same definition, served by the kube-apiserver itself."""
CONFIG_MAP: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
_SERVICE: Final = "apiext"
_PATIENCE: Final = 40.0


class Cluster:
    """The host (`plane`), apiext (`apiext`) with an etcd of its own (`etcd`), and clients of both."""

    def __init__(self, folder: Path) -> None:
        self.plane = ControlPlane(folder / "host", durable=False, extra_args=["--requestheader-uid-headers=X-Remote-Uid"])
        self.etcd = Etcd(folder / "etcd", durable=False)
        self.authority = Authority(folder / "serving", "apiext-serving-ca")
        self.host = Caller(self.plane.url, self.plane.ca, self.plane.admin)
        kubeconfig = self.plane.write_kubeconfig("apiext", self.plane.authority.issue("apiext"))
        serving = self.authority.issue(_SERVICE, hosts=(f"{_SERVICE}.default.svc", "127.0.0.1"))
        crds = folder / "crds"
        crds.mkdir()
        (crds / "widgets.json").write_text(json.dumps(definition(group=GROUP)))
        self.apiext = ApiextServer(
            folder / "apiext",
            etcd_url=self.etcd.url,
            crd_dir=crds,
            extra_args=[
                f"--kubeconfig={kubeconfig}",
                f"--tls-cert-file={serving.cert}",
                f"--tls-private-key-file={serving.key}",
                "--authentication-token-webhook-cache-ttl=100ms",
                "--authorization-webhook-cache-authorized-ttl=100ms",
                "--authorization-webhook-cache-unauthorized-ttl=100ms",
            ],
        )
        self.apiext.ca = self.authority.cert

    def __enter__(self) -> Self:
        """Start everything and register apiext with the host."""
        try:
            self.plane.start()
            self.etcd.start()
            self._let_apiext_ask()
            self.apiext.start()
            self.host.must("POST", _CRDS, definition(group=PLAIN))
            until(lambda: self.host.ask("GET", f"/apis/{PLAIN}/v1/widgets")[0] == 200)
            self._register()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        for part in (self.apiext, self.etcd, self.plane):
            part.stop()

    def through_host(self, user: str, *groups: str) -> Caller:
        """A client of the host with a certificate."""
        return Caller(self.plane.url, self.plane.ca, self.plane.authority.issue(user, groups=groups))

    def directly(self, user: str, *groups: str) -> Caller:
        """A client of apiext with a certificate of the host."""
        return Caller(self.apiext.url, self.authority.cert, self.plane.authority.issue(user, groups=groups))

    def grant(self, name: str, rules: list[dict[str, Any]], *users: str) -> None:
        """Allow users something everywhere."""
        self.host.must("POST", f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        self.bind("clusterrolebindings", name, "ClusterRole", name, *users)

    def bind(self, bindings: str, name: str, kind: str, role: str, *users: str) -> None:
        """Bind a role that is there already."""
        api = "rbac.authorization.k8s.io"
        subjects = [{"apiGroup": api, "kind": "User", "name": user} for user in users]
        binding = {"metadata": {"name": name}, "roleRef": {"apiGroup": api, "kind": kind, "name": role}, "subjects": subjects}
        self.host.must("POST", f"{_RBAC}/{bindings}", binding)

    def keys(self, etcd_url: str, part: str) -> list[str]:
        """The keys of an etcd that hold a text."""
        connection = http.client.HTTPConnection(urlsplit(etcd_url).netloc, timeout=10)
        everything = {"key": base64.b64encode(b"\0").decode(), "range_end": base64.b64encode(b"\0").decode(), "keys_only": True}
        connection.request("POST", "/v3/kv/range", json.dumps(everything))
        found = json.loads(connection.getresponse().read())["kvs"]
        connection.close()
        return [key for one in found if part in (key := base64.b64decode(one["key"]).decode())]

    def _let_apiext_ask(self) -> None:
        self.bind("clusterrolebindings", "apiext", "ClusterRole", "system:auth-delegator", "apiext")
        reader = "extension-apiserver-authentication-reader"
        self.bind("namespaces/kube-system/rolebindings", "apiext", "Role", reader, "apiext")
        own = self.through_host("apiext")
        until(lambda: own.ask("GET", CONFIG_MAP)[0] == 200 and "requestheader-client-ca-file" in own.must("GET", CONFIG_MAP)["data"])

    def _register(self) -> None:
        service = {"metadata": {"name": _SERVICE}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        self.host.must("POST", "/api/v1/namespaces/default/services", service)
        spec = {
            "group": GROUP,
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "caBundle": base64.b64encode(self.authority.cert.read_bytes()).decode(),
            "service": {"namespace": "default", "name": _SERVICE, "port": self.apiext.port},
        }
        name = f"v1.{GROUP}"
        self.host.must("POST", _API_SERVICES, {"metadata": {"name": name}, "spec": spec})
        until(lambda: _available(self.host.must("GET", f"{_API_SERVICES}/{name}")))


def _available(api_service: dict[str, Any]) -> bool:
    conditions = api_service.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"], one["reason"]) == ("Available", "True", "Passed") for one in conditions)


def until(condition: Callable[[], bool]) -> None:
    """Return when a condition holds; a broken connection means not yet."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        with suppress(OSError):
            if condition():
                return
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
