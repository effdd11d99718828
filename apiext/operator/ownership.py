"""Ownership of objects on the host: several apiexts may serve groups of one cluster, each behind its own Service."""

from __future__ import annotations

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import MANAGED_BY, MANAGER
from apiext.operator.api_clients import Json


def is_ours(found: Json, service: str = "") -> bool:
    """Return whether an operator created an object: any operator or, with `service`, the one of the apiext behind it."""
    managed = (found["metadata"].get("labels") or {}).get(MANAGED_BY) == MANAGER
    return managed and not (service and is_of_another(found, service))


def service_of(found: Json) -> str:
    """Return the Service of the apiext that owns an object, as NAMESPACE/NAME; empty if the object names none."""
    return str((found["metadata"].get("annotations") or {}).get(host_annotations.SERVICE) or "")


def is_of_another(found: Json, service: str) -> bool:
    """Return whether an object belongs to an apiext behind another Service."""
    return service_of(found) not in {"", service}
