"""Builders of the objects that the operator reads."""

from collections.abc import Iterable
from typing import Any, Final

from apiext.base.meta import host_annotations
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.operator.apiservice_owner import ServiceTarget
from apiext.operator.group_state import GroupState
from apiext.operator.names import NamespacedName
from tests.support.builders.crds import widget_crd

GROUP: Final = "example.com"
TARGET: Final = ServiceTarget(service=NamespacedName("apiext-system", "apiext"), port=8443, ca_bundle="Q0E=")
SELECTOR: Final = parse_label_selector(host_annotations.SERVE_SELECTOR)
Json = dict[str, Any]


def crd(*served: str, plural: str = "widgets", group: str = GROUP, selected: bool = True, **metadata: Any) -> Json:
    """Return a definition of the host."""
    found = widget_crd(plural, plural.capitalize()[:-1], group=group, served=served or ("v1",))
    labels = {"labels": {host_annotations.SERVE_LABEL: host_annotations.SERVE_VALUE}} if selected else {}
    found["metadata"] |= {"uid": f"uid-{plural}", "resourceVersion": "1", **labels, **metadata}
    return found


def held(*served: str, **metadata: Any) -> Json:
    """Return a definition of the host whose objects the apiext of TARGET has."""
    annotations = {host_annotations.SERVICE: str(TARGET.service)}
    return crd(*served, **{"finalizers": [host_annotations.INSTANCES_FINALIZER], "annotations": annotations, **metadata})


def mirror(*served: str, plural: str = "widgets", phase: str = host_annotations.SERVING, **more: Any) -> Json:
    """Return apiext's mirror of such a definition."""
    found = crd(*served, plural=plural, annotations={host_annotations.HOST_UID: f"uid-{plural}", host_annotations.PHASE: phase})
    return found | more


def own(*served: str, plural: str = "widgets", group: str = GROUP) -> Json:
    """Return a definition of apiext alone."""
    return crd(*served, plural=plural, group=group, selected=False)


def api_service(version: str = "v1", *, group: str = GROUP, labels: Json | None = None, **spec: Any) -> Json:
    """Return an APIService, by default as kube-apiserver creates it for a definition of its own."""
    automanaged = {"kube-aggregator.kubernetes.io/automanaged": "true"} if labels is None else labels
    metadata = {"name": f"{version}.{group}", "uid": f"uid-{version}", "resourceVersion": "7", "labels": automanaged}
    priorities = {"groupPriorityMinimum": 1000, "versionPriority": 100}
    return {"metadata": metadata, "spec": {"group": group, "version": version, **priorities, **spec}}


def registered(version: str = "v1", *, by: str = str(TARGET.service), **spec: Any) -> Json:
    """Return an APIService as the operator of the apiext behind a Service writes it."""
    service = {**TARGET.service._asdict(), "port": TARGET.port}
    ours = {"app.kubernetes.io/managed-by": "apiext"}
    found = api_service(version, labels=ours, **{"service": service, "caBundle": TARGET.ca_bundle, **spec})
    found["metadata"]["annotations"] = {host_annotations.SERVICE: by}
    return found


def state(
    crds: Iterable[Json] = (), definitions: Iterable[Json] = (), api_services: Iterable[Json] = (), *, guarded: bool = False
) -> GroupState:
    """Return the state of a group with these objects."""
    return GroupState(
        name=GROUP,
        selector=SELECTOR,
        crds=_named(crds),
        definitions=_named(definitions),
        api_services=_named(api_services),
        guarded=guarded,
    )


def _named(objects: Iterable[Json]) -> dict[str, Json]:
    return {found["metadata"]["name"]: found for found in objects}
