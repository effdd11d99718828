"""The fields that field selectors may use (kubernetes pkg/registry/*/*/strategy.go, and pkg/apis/*/v1/conversion.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.parameters.options import known_field_labels, meta_field_label
from apiext.resources.registry.builtin.codec import metadata_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.endpoints.parameters.options import FieldLabel
    from apiext.base.meta.encoding.json_codec import Object

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "certificatesigningrequests": ("spec.signerName",),
    "clustertrustbundles": ("spec.signerName",),
    "nodes": ("spec.unschedulable",),
    "podcertificaterequests": ("spec.signerName", "spec.podName", "spec.nodeName"),
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "resourceslices": ("spec.nodeName", "spec.driver"),
    "services": ("spec.clusterIP", "spec.type"),
}
_SWITCHES: Final = frozenset({"spec.unschedulable", "spec.hostNetwork"})
_NUMBERS: Final = frozenset({"status.replicas"})
_METADATA: Final = ("metadata.name", "metadata.namespace")


def field_label_of(plural: str) -> FieldLabel:
    """Return the check of the labels of a resource."""
    fields = _FIELDS.get(plural)
    return meta_field_label if fields is None else known_field_labels(frozenset({*_METADATA, *fields}))


def selectable_of(plural: str) -> Callable[[Object], dict[str, str]]:
    """Return the function that returns the selectable fields of an object."""
    fields = tuple((name, *name.split(".")) for name in _FIELDS.get(plural, ()))
    if not fields:
        return metadata_fields

    def selectable(obj: Object) -> dict[str, str]:
        return metadata_fields(obj) | {name: _text(name, (obj.get(parent) or {}).get(field)) for name, parent, field in fields}

    return selectable


def _text(name: str, value: Any) -> str:
    if name in _SWITCHES:
        return "true" if value else "false"
    return str(value or 0) if name in _NUMBERS else value or ""
