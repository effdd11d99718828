"""A group of the host that tests let apiext adopt and hand back."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from apiext.base.meta.host_annotations import HAND_OVER, INSTANCES_FINALIZER, SERVE_LABEL
from hack.lib.definitions import date_back
from hack.lib.servers.aggregated_cluster import API_SERVICES, CRDS, AggregatedCluster
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd

MERGE: Final = [("Content-Type", "application/merge-patch+json")]
JSON_PATCH: Final = [("Content-Type", "application/json-patch+json")]
POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
Json = dict[str, Any]


class Group:
    """A group on the host with definitions."""

    def __init__(self, cluster: AggregatedCluster, name: str, *plurals: str, change: Callable[[Json], object] = lambda _crd: None) -> None:
        """Create the definitions, each changed by `change`, and wait until the host serves them and creates objects at once."""
        self.cluster = cluster
        self.name = name
        self.plurals = plurals or ("widgets",)
        self.path = f"/apis/{name}/v1/widgets"
        self.where = f"/apis/{name}/v1/namespaces/default/widgets"
        for plural in self.plurals:
            crd = widget_crd(plural, plural.title()[:-1], group=name)
            (version,) = crd["spec"]["versions"]
            version["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "self.metadata.name != 'never'"}]
            change(crd)
            cluster.host.must("POST", CRDS, crd)
        for plural in self.plurals:
            until(lambda plural=plural: cluster.host.ask("GET", f"/apis/{name}/v1/{plural}")[0] == 200)  # type: ignore[misc]
            path = f"{CRDS}/{plural}.{name}"
            cluster.host.must("PATCH", f"{path}/status", date_back(partial(cluster.host.must, "GET", path)), JSON_PATCH)

    @property
    def crd(self) -> Json:
        """The definition of widgets on the host."""
        found: Json = self.cluster.host.must("GET", f"{CRDS}/widgets.{self.name}")
        return found

    def change(self, patch: Json, plural: str = "widgets", *, status: bool = False) -> None:
        """Change a definition, or its status."""
        path = f"{CRDS}/{plural}.{self.name}{'/status' if status else ''}"
        self.cluster.host.must("PATCH", path, patch, MERGE)

    def label(self, plural: str = "widgets", *, value: str | None = "true") -> None:
        """Set or remove the label of a definition."""
        self.change({"metadata": {"labels": {SERVE_LABEL: value}}}, plural)

    def hand_over(self) -> None:
        """Request the hand-over, and wait until the host serves the group."""
        self.change({"metadata": {"annotations": {HAND_OVER: "true"}}})
        self.until("HandedOver")

    def condition(self, plural: str = "widgets", *, type: str = "ServedByApiext") -> tuple[str, str, str]:
        """Return status, reason and message of a condition of the definition."""
        code, found = self.cluster.host.ask("GET", f"{CRDS}/{plural}.{self.name}")
        for one in found["status"]["conditions"] if code == 200 else ():
            if one["type"] == type:
                return one["status"], one["reason"], one["message"]
        return "", "", ""

    def until(self, reason: str, *plurals: str) -> None:
        """Wait until the conditions have a reason."""
        for plural in plurals or self.plurals:
            until(lambda plural=plural: self.condition(plural)[1] == reason)  # type: ignore[misc]

    def create(self, name: str, **metadata: Any) -> Json:
        """Create an object, and return the host's answer."""
        body = widget(name, group=self.name, metadata=metadata, replicas=1)
        made: Json = self.cluster.host.must("POST", self.where, body)
        return made

    def items(self) -> list[Json]:
        """Return all objects as a client of the host lists them."""
        found: list[Json] = self.cluster.host.must("GET", self.path)["items"]
        return found

    def revision(self) -> int:
        """Return the resourceVersion of a list through the host."""
        return int(self.cluster.host.must("GET", f"{self.path}?limit=1")["metadata"]["resourceVersion"])

    @property
    def leftovers(self) -> list[str]:
        """Return what apiext has left on the host and in its own store."""
        host = self.cluster.host
        found = self.cluster.keys(self.cluster.etcd.url, f"/{self.name}/") + self.cluster.keys(self.cluster.etcd.url, f".{self.name}")
        found += [POLICIES] if host.ask("GET", f"{POLICIES}/apiext-{self.name}")[0] == 200 else []
        code, service = host.ask("GET", f"{API_SERVICES}/v1.{self.name}")
        found += [API_SERVICES] if code == 200 and service["spec"].get("service") else []
        code, crd = host.ask("GET", f"{CRDS}/widgets.{self.name}")
        return found + [one for one in (crd["metadata"].get("finalizers") or () if code == 200 else ()) if one == INSTANCES_FINALIZER]
