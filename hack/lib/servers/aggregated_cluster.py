"""A cluster in which kube-apiserver proxies to apiext; apiext and its operator have the rights of the manifests only."""

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from apiext.base.meta.host_annotations import CONDITION
from apiext.operator.host_definitions import ConditionReason
from hack.lib.servers.aggregated_permissions import operator_rules, server_rules
from hack.lib.servers.apiext_operator import ApiextOperator
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.certificates import Authority
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd, gateway
from hack.lib.servers.process import Service
from hack.lib.waiting import until

SELECTOR: Final = "apiext.dev/serve=true"
NAMESPACE: Final = "apiext-system"
SERVICE: Final = "apiext"
CONFIG_MAP: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_USER: Final = "apiext"
_OPERATOR: Final = "apiext-operator"
_SHORT_CACHES: Final = (
    "--authentication-token-webhook-cache-ttl=100ms",
    "--authorization-webhook-cache-authorized-ttl=100ms",
    "--authorization-webhook-cache-unauthorized-ttl=100ms",
)


class ServerSettings(NamedTuple):
    """What one of several servers has for itself: its etcd if it is another one, flags and environment variables."""

    etcd_url: str = ""
    flags: Sequence[str] = ()
    env: Mapping[str, str] | None = None


class AggregatedCluster:
    """The host (`plane`, its administrator `host`), apiext (`apiext`) with its own etcd (`etcd`), and the operator (`operator`).

    With `selector` apiext serves the CRDs of the host that match (`SELECTOR` is the one of the manifests). With `replicas`
    several servers share the etcd (`servers`; the host proxies to the first, `apiext`). Without `operator` the operator is
    not started. With `durable` the etcds wait for the disk. With `host_etcd` the operator may write to the etcd of the host,
    which it needs to hand groups back. With `embedded` the servers store objects in SQLite, and `etcd` does not run; nor does it
    with `settings` of each server, which may name another etcd that the caller runs.
    `progress` gets a line for each program that starts.
    """

    def __init__(
        self,
        folder: Path,
        *,
        selector: str | None = None,
        crd_dir: Path | None = None,
        controller_manager: bool = True,
        operator: bool = True,
        replicas: int = 1,
        durable: bool = False,
        host_etcd: bool = False,
        embedded: bool = False,
        host_args: Sequence[str] = (),
        serve_args: Sequence[str] = (),
        settings: Sequence[ServerSettings] = (),
        operate_args: Sequence[str] = (),
        progress: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.folder = folder
        uid = "--requestheader-uid-headers=X-Remote-Uid"
        self.plane = ControlPlane(folder / "host", durable=durable, controller_manager=controller_manager, extra_args=[uid, *host_args])
        self.etcd = Etcd(folder / "etcd", durable=durable)
        self.authority = Authority(folder / "serving", "apiext-serving-ca")
        self.host = self.plane.client
        self._selector = [] if selector is None else [f"--crd-selector={selector}"]
        self._crd_dir = crd_dir
        self._operate_args = [*([f"--host-etcd-servers={self.plane.etcd_url}"] if host_etcd else []), *operate_args]
        self._starts_operator = operator
        self._embedded = embedded
        self._runs_etcd = not embedded and not any(own.etcd_url for own in settings)
        self._progress = progress
        self.servers = [
            self.another_server(
                f"apiext-{number}" if number else "apiext",
                *serve_args,
                *(self._selector if own.etcd_url else []),
                *own.flags,
                etcd_url=own.etcd_url,
                env=own.env,
            )
            for number, own in enumerate(settings or [ServerSettings()] * replicas)
        ]
        self.apiext = self.servers[0]
        self.operator = self.another_operator("operator")

    def __enter__(self) -> Self:
        """Start all programs and install the objects that the manifests create."""
        try:
            self._progress("starting the cluster's etcd and kube-apiserver")
            self.plane.start()
            self._progress(f"starting apiext with {'SQLite' if self._embedded else 'an etcd of its own'}")
            if self._runs_etcd:
                self.etcd.start()
            self._install()
            for server in self.servers:
                server.start()
            if self._starts_operator:
                self._progress("starting the operator")
                self.operator.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        parts: list[Service] = [self.operator, *self.servers, self.etcd]
        for part in parts:
            part.stop()
        self.plane.__exit__()

    def another_operator(self, name: str, *arguments: str) -> ApiextOperator:
        """Return one more operator of this cluster, which the test starts and stops."""
        kubeconfig = self.plane.write_kubeconfig(_OPERATOR, self.plane.authority.issue(_OPERATOR))
        flags = [
            f"--kubeconfig={kubeconfig}",
            f"--service={NAMESPACE}/{SERVICE}",
            f"--service-port={self.apiext.port}",
            f"--server={self.apiext.url}",
            f"--ca-file={self.authority.cert}",
            f"--namespace={NAMESPACE}",
            "--v=2",
        ]
        return ApiextOperator(self.folder / name, [*flags, *self._selector, *self._operate_args, *arguments])

    def register(self, group: str, version: str, server: ApiextServer | None = None) -> None:
        """Create an APIService by hand for a version that `apiext` or another server serves; wait until the host reports it available."""
        spec = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "caBundle": base64.b64encode(self.authority.cert.read_bytes()).decode(),
            "service": {"namespace": NAMESPACE, "name": SERVICE, "port": (server or self.apiext).port},
        }
        name = f"{version}.{group}"
        self.host.must("POST", API_SERVICES, {"metadata": {"name": name}, "spec": spec})
        until(lambda: self.available(name))

    def through_host(self, user: str, *groups: str) -> Caller:
        """Return a client of the host with a certificate."""
        return Caller(self.plane.url, self.plane.ca, self.plane.authority.issue(user, groups=groups))

    def directly(self, user: str, *groups: str) -> Caller:
        """Return a client of apiext with a certificate of the host's authority."""
        return Caller(self.apiext.url, self.authority.cert, self.plane.authority.issue(user, groups=groups))

    def own(self, server: ApiextServer | None = None) -> Caller:
        """Return the administrator of the host as a client of apiext, or of one of its replicas."""
        return Caller((server or self.apiext).url, self.authority.cert, self.plane.admin)

    def grant(self, name: str, rules: list[dict[str, Any]], *users: str) -> None:
        """Grant rules to users in the whole cluster."""
        self.host.must("POST", f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        self.bind("clusterrolebindings", name, "ClusterRole", name, *users)

    def bind(self, bindings: str, name: str, kind: str, role: str, *users: str) -> None:
        """Bind an existing role to users."""
        api = "rbac.authorization.k8s.io"
        subjects = [{"apiGroup": api, "kind": "User", "name": user} for user in users]
        binding = {"metadata": {"name": name}, "roleRef": {"apiGroup": api, "kind": kind, "name": role}, "subjects": subjects}
        self.host.must("POST", f"{_RBAC}/{bindings}", binding)

    def keys(self, etcd_url: str, part: str) -> list[str]:
        """Return the keys of an etcd that contain a text."""
        found = gateway(etcd_url, "kv/range", key=b"\0", range_end=b"\0", keys_only=True)["kvs"]
        return [key for one in found if part in (key := base64.b64decode(one["key"]).decode())]

    def available(self, name: str) -> bool:
        """Report whether the host finds an APIService available."""
        code, found = self.host.ask("GET", f"{API_SERVICES}/{name}")
        conditions = found.get("status", {}).get("conditions", []) if code == 200 else []
        return any((one["type"], one["status"], one["reason"]) == ("Available", "True", "Passed") for one in conditions)

    def proxied(self, name: str) -> bool:
        """Report whether the host proxies an APIService to apiext and finds it available."""
        code, found = self.host.ask("GET", f"{API_SERVICES}/{name}")
        return bool(code == 200 and found["spec"].get("service") and self.available(name))

    def adopt(self, definition: dict[str, Any]) -> None:
        """Create a definition on the host, and wait until the operator reports that apiext serves it, including its watches."""
        name = self.host.must("POST", CRDS, definition)["metadata"]["name"]
        until(lambda: self._adoption(name) == ConditionReason.SERVING)

    def _adoption(self, name: str) -> str:
        conditions = self.host.must("GET", f"{CRDS}/{name}").get("status", {}).get("conditions") or []
        return next((str(one["reason"]) for one in conditions if one["type"] == CONDITION), "")

    def another_server(
        self, name: str, *arguments: str, etcd_url: str = "", crd_dir: Path | None = None, env: Mapping[str, str] | None = None
    ) -> ApiextServer:
        """Return one more server with the rights of the others, which the test starts and stops.

        With another etcd it follows no definitions of the host unless the arguments name a selector.
        """
        selector = [] if etcd_url else self._selector
        kubeconfig = self.plane.write_kubeconfig(_USER, self.plane.authority.issue(_USER))
        serving = self.authority.issue(SERVICE, hosts=(f"{SERVICE}.{NAMESPACE}.svc", "127.0.0.1", "localhost"))
        own = [f"--kubeconfig={kubeconfig}", f"--tls-cert-file={serving.cert}", f"--tls-private-key-file={serving.key}"]
        server = ApiextServer(
            self.folder / name,
            etcd_url=etcd_url or (None if self._embedded else self.etcd.url),
            crd_dir=crd_dir or self._crd_dir,
            extra_args=[*own, *selector, *_SHORT_CACHES, *arguments],
            env=env,
        )
        server.ca = self.authority.cert
        return server

    def _install(self) -> None:
        """Create the namespace, the Service and the rights that an installation has."""
        self.host.must("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        service = {"metadata": {"name": SERVICE}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        self.host.must("POST", f"/api/v1/namespaces/{NAMESPACE}/services", service)
        self.bind("clusterrolebindings", "apiext-delegator", "ClusterRole", "system:auth-delegator", _USER)
        reader = "extension-apiserver-authentication-reader"
        self.bind("namespaces/kube-system/rolebindings", "apiext", "Role", reader, _USER)
        self.grant(_USER, server_rules(), _USER)
        self.grant(_OPERATOR, operator_rules(), _OPERATOR)
        server, operator = self.through_host(_USER), self.through_host(_OPERATOR)
        until(lambda: server.ask("GET", CONFIG_MAP)[0] == 200 and "requestheader-client-ca-file" in server.must("GET", CONFIG_MAP)["data"])
        until(lambda: operator.ask("GET", CRDS)[0] == operator.ask("GET", API_SERVICES)[0] == 200)
