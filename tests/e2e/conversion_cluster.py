"""A kube-apiserver with the manifests of the conversion webhook; two replicas run behind its Service with exactly its rights."""

import base64
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from apiext.operator.conversionserver.webhook_target import WebhookTarget
from apiext.operator.names import NamespacedName
from hack.lib.conversions.gadgets import Json, gadget_crd, gadget_rules
from hack.lib.manifests import NAMESPACE
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.servers.balancer import Balancer
from hack.lib.servers.convert_server import ConvertServer
from hack.lib.servers.converted_plane import CONVERSIONS
from hack.lib.servers.process import free_port
from hack.lib.waiting import until
from tests.e2e.installed import InstalledBuild

ACCOUNT: Final = "apiext-conversions"
SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/apiext-conversions-serving"
HOST: Final = f"{ACCOUNT}.{NAMESPACE}.svc"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]


class ConversionCluster(InstalledBuild):
    """The cluster (`plane`, administrator `host`) with two replicas of the webhook behind its Service."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "conversion/base", [ACCOUNT], controllers=False)
        self._port = free_port()
        self.target = WebhookTarget(service=NamespacedName(NAMESPACE, ACCOUNT), port=self._port)
        self._stack = ExitStack()

    def start(self) -> None:
        """Start all programs, and return when both replicas are ready."""
        super().start()
        self.point_service_here(ACCOUNT)
        self.replicas = [self._replica(name) for name in ("one", "two")]
        self.balancer = Balancer(self.replicas, self._port)
        with ExitStack() as stack:
            for replica in self.replicas:
                stack.callback(replica.kill)
                replica.process.start()
            for replica in self.replicas:
                replica.process.wait_until(replica.ready, replica.patience)
            stack.enter_context(self.balancer)
            self.balancer.wait(*self.replicas)
            self._stack = stack.pop_all()

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()
        super().__exit__()

    def define(self, group: str, rules: list[Json] | None = None, crd: Json | None = None) -> str:
        """Create the CRD and its Conversion object, and return the path of its objects when they are converted, without version."""
        self.host.must("POST", CONVERSIONS, gadget_rules(group, rules))
        self.host.must("POST", CRDS, crd or gadget_crd(group))
        until(lambda: self.conversion(group)["strategy"] == "Webhook", "the webhook in spec.conversion")
        until(lambda: self.host.ask("GET", f"/apis/{group}/v1/gadgets")[0] == 200)
        return f"/apis/{group}"

    def create(self, path: str, found: Json) -> Json:
        """Create an object, and return it; repeat the request while kube-apiserver takes over a changed CRD, and asks for that."""
        answers: list[tuple[int, Json]] = []

        def is_answered() -> bool:
            answers.append(self.host.ask("POST", path, found))
            return answers[-1][0] != 503

        until(is_answered)
        code, answer = answers[-1]
        assert code == 201, answer
        return answer

    def conversion(self, group: str) -> Json:
        """Return spec.conversion of the CRD of a group."""
        found: Json = self.host.must("GET", f"{CRDS}/gadgets.{group}")["spec"]["conversion"]
        return found

    def conditions(self, group: str) -> dict[str, str]:
        """Return the conditions of the Conversion object of a group."""
        found = self.host.must("GET", f"{CONVERSIONS}/gadgets.{group}").get("status") or {}
        return {one["type"]: one["status"] for one in found.get("conditions", ())}

    def leader(self) -> ConvertServer:
        """Return the replica that holds the lease."""
        return max(self.replicas, key=lambda replica: replica.log.rfind("leader lease acquired"))

    def secret(self) -> dict[str, str]:
        """Return the data of the Secret with the certificate."""
        data: dict[str, str] = self.host.must("GET", SECRET)["data"]
        return data

    def change_secret(self, texts: dict[str, str]) -> None:
        """Replace values of the Secret."""
        data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        self.host.must("PATCH", SECRET, {"data": data}, MERGE)

    def events(self, group: str) -> list[tuple[str, str]]:
        """Return reasons and messages of the events about the CRD of a group."""
        name = f"gadgets.{group}"
        found = self.host.must("GET", "/api/v1/namespaces/default/events")["items"]
        return [(one["reason"], one["message"]) for one in found if one["involvedObject"]["name"] == name]

    def _replica(self, name: str) -> ConvertServer:
        port = free_port()
        changes = {"--bind-address": "127.0.0.1", "--secure-port": str(port), "--service-port": str(self._port), "--v": "2"}
        quick = {"--leader-elect-lease-duration": "4s", "--leader-elect-renew-deadline": "3s", "--leader-elect-retry-period": "200ms"}
        return ConvertServer(self.pod(ACCOUNT, name, {**changes, **quick, "--shutdown-delay-duration": "1s"}), port)
