"""Whose something on the host is: several apiexts may serve groups of one cluster, each behind a Service of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import host_annotations

if TYPE_CHECKING:
    from apiext.operator.api_clients import Json

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "apiext"
"""The label, and its value, of all that an operator makes on the host."""


def is_ours(found: Json, service: str = "") -> bool:
    """Whether an operator has made an object: that of the apiext behind a Service, or of any where none is named."""
    managed = (found["metadata"].get("labels") or {}).get(MANAGED_BY) == MANAGER
    return managed and not (service and is_of_another(found, service))


def service_of(found: Json) -> str:
    """The Service of the apiext whose operator has written to an object, as NAMESPACE/NAME; empty where that is not said."""
    return str((found["metadata"].get("annotations") or {}).get(host_annotations.SERVICE) or "")


def is_of_another(found: Json, service: str) -> bool:
    """Whether an object says that it is of an apiext behind another Service."""
    return service_of(found) not in {"", service}
