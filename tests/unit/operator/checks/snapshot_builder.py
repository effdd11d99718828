"""A host and an apiext with canned answers; all checks pass at first."""

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.api_clients import API_SERVICES, CRDS
from apiext.operator.checks.connections import Answer, Asks, Connections
from apiext.operator.checks.sequence import Report, examine
from apiext.operator.checks.snapshot import CheckTarget, Snapshot
from apiext.operator.names import NamespacedName
from hack.lib.servers.certificates import Authority

GROUP: Final = "g.example.com"
CRD: Final = f"widgets.{GROUP}"
CONFIG_MAP: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
SERVICE: Final = "/api/v1/namespaces/ns/services/svc"
SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dsvc"
DISCOVERY: Final = f"/apis/{GROUP}/v1"
LIST: Final = f"{DISCOVERY}/namespaces/apiext-routing-probe/widgets?limit=1"
READY: Final = "[+]ping ok\n[+]etcd ok\n[+]host ok\n[+]admission ok\n[+]shutdown ok\nreadyz check passed\n"
ESTABLISHED: Final = [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]


class SnapshotBuilder:
    """The answers of each server by path; an exception is raised. A path of `host` after `as ` is for a user without rights."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.pair = self.authority.issue("apiext", hosts=("svc.ns.svc",))
        self.target = CheckTarget(service=NamespacedName("ns", "svc"), port=443)
        self.crd: dict[str, Any] = {
            "metadata": {"name": CRD, "uid": "u", "labels": {"apiext.dev/serve": "true"}, "annotations": {}},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {"plural": "widgets"},
                "versions": [{"name": "v1", "served": True}],
            },
            "status": {"conditions": list(ESTABLISHED)},
        }
        self.mirror: dict[str, Any] = json.loads(json.dumps(self.crd))
        self.mirror["metadata"]["annotations"] = {"apiext.dev/host-uid": "u", "apiext.dev/phase": "Serving"}
        self.api_service: dict[str, Any] = {
            "metadata": {"name": f"v1.{GROUP}", "labels": {"app.kubernetes.io/managed-by": "apiext"}},
            "spec": {
                "group": GROUP,
                "version": "v1",
                "service": {"namespace": "ns", "name": "svc", "port": 443},
                "caBundle": self.bundle(),
            },
            "status": {"conditions": [{"type": "Available", "status": "True"}]},
        }
        self.service: dict[str, Any] = {"spec": {"type": "ClusterIP", "ports": [{"name": "https", "port": 443}]}}
        self.slices = [{"ports": [{"name": "https", "port": 6443}], "endpoints": [{"conditions": {"ready": True}}]}]
        resources = {"resources": [{"name": "widgets"}]}
        self.host: dict[str, Any] = {
            "/version": {"gitVersion": "v1"},
            CONFIG_MAP: {"data": {"requestheader-client-ca-file": "-----BEGIN CERTIFICATE-----"}},
            DISCOVERY: resources,
        }
        self.apiext: dict[str, Any] = {"/livez?verbose": "[+]ping ok\n", "/readyz?verbose": READY, "/apis": {}, DISCOVERY: resources}
        self.unknown: dict[str, Any] = {}
        """What apiext answers without credentials, where that is something else."""
        self.asked: list[str] = []

    def bundle(self) -> str:
        """Return the authority of apiext's certificate, as in an APIService."""
        return base64.b64encode(self.authority.cert.read_bytes()).decode()

    def build(self) -> Snapshot:
        """Return a snapshot of these answers."""
        self.host = {
            CRDS: {"items": [self.crd]},
            API_SERVICES: {"items": [self.api_service]},
            SERVICE: self.service,
            SLICES: {"items": self.slices},
            **self.host,
        }
        self.apiext = {CRDS: {"items": [self.mirror]}, **self.apiext}
        return Snapshot(self.target, _Connections(self))

    async def report(self, *groups: str) -> Report:
        """Return the report of all checks."""
        return await examine(self.target, self.build().connections, groups)


class _Connections(Connections):
    def __init__(self, builder: SnapshotBuilder) -> None:
        super().__init__(lambda: Endpoint(url="", context=None))
        self._builder = builder

    def host(self) -> Asks:
        return _Asks(self._builder, self._builder.host)

    def apiext(self, url: str, *, name: str, authority: str, known: bool) -> Asks:
        return _Asks(self._builder, self._builder.apiext if known else self._builder.apiext | self._builder.unknown)


class _Asks:
    def __init__(self, builder: SnapshotBuilder, answers: dict[str, Any]) -> None:
        self._builder = builder
        self._answers = answers

    async def __call__(self, path: str, headers: Mapping[str, str]) -> Answer:
        await asyncio.sleep(0)
        self._builder.asked.append(path)
        keys = [f"as {path}"] if headers else []
        found = next((self._answers[key] for key in (*keys, path) if key in self._answers), Answer(404))
        if isinstance(found, Exception):
            raise found
        if isinstance(found, Answer):
            return found
        return Answer(200, (found if isinstance(found, str) else json.dumps(found)).encode())
