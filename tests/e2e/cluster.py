"""A cluster in which apiext serves a group of a folder, and one that its operator has taken over from the host."""

import json
from pathlib import Path
from typing import Any, Final, Self

from apiext.base.meta.host_annotations import SERVE_LABEL
from hack.lib.servers.aggregated_cluster import CONFIG_MAP, CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION
from hack.lib.waiting import until
from tests.support.builders.crds import widget_crd

__all__ = ["AUDITED", "CONFIG_MAP", "GROUP", "LABELLED", "PLAIN", "SERVED", "Cluster", "until"]

GROUP: Final = "aggregated.example.com"
"""Its definition is in a folder."""
LABELLED: Final = "labelled.example.com"
"""The same definition, on the host, with the label that has apiext serve it."""
SERVED: Final = (GROUP, LABELLED)
PLAIN: Final = "plain.example.com"
"""The same definition, served by the kube-apiserver itself."""

AUDITED: Final = "audited"
"""A namespace whose requests both servers record."""
_POLICY: Final = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata", "namespaces": [AUDITED]}]}


class Cluster(AggregatedCluster):
    """The cluster with both groups ready. The operator has stopped, so that tests can change what it would repair."""

    def __init__(self, folder: Path) -> None:
        crds = folder / "crds"
        crds.mkdir()
        (crds / "widgets.json").write_text(json.dumps(widget_crd(group=GROUP)))
        policy = folder / "policy.json"
        policy.write_text(json.dumps(_POLICY))
        self.audit_logs = folder / "host-audit.log", folder / "apiext-audit.log"
        """Events of the host and of apiext about the namespace AUDITED."""
        host, own = ([f"--audit-policy-file={policy}", f"--audit-log-path={log}"] for log in self.audit_logs)
        super().__init__(
            folder,
            selector=SELECTOR,
            crd_dir=crds,
            controller_manager=False,
            host_args=host,
            serve_args=own,
            operate_args=QUICK_ELECTION,
        )

    def __enter__(self) -> Self:
        """Start all programs, and let the operator register both groups."""
        super().__enter__()
        try:
            self.host.must("POST", CRDS, widget_crd(group=PLAIN))
            self.host.must("POST", CRDS, _labelled())
            until(lambda: self.host.ask("GET", f"/apis/{PLAIN}/v1/widgets")[0] == 200)
            until(lambda: all(self.proxied(f"v1.{group}") for group in SERVED))
            until(self._is_ready)
            self.operator.stop()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _is_ready(self) -> bool:
        """Return whether the operator has finished its work."""
        conditions = self.host.must("GET", f"{CRDS}/widgets.{LABELLED}")["status"]["conditions"]
        return any((one["type"], one["status"]) == ("ServedByApiext", "True") for one in conditions)


def _labelled() -> dict[str, Any]:
    crd = widget_crd(group=LABELLED)
    crd["metadata"]["labels"] = {SERVE_LABEL: "true"}
    return crd
