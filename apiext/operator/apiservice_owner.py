"""The owner of an APIService of the host: apiext, the host, or another server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from apiext.operator.api_clients import Json
from apiext.operator.group_state import labels_of
from apiext.operator.names import NamespacedName
from apiext.operator.ownership import is_ours

AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
ALWAYS: Final = "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTarget:
    """The Service of apiext, and the CA bundle for it."""

    service: NamespacedName
    port: int
    ca_bundle: str
    """Base64 of PEM; empty for the authorities of the host's system."""


class Owner(Enum):
    """Owner of an APIService."""

    NONE = "none"
    APIEXT = "apiext"
    HOST = "host"
    OTHER = "other"
    """Another server, or an APIService that is not for definitions: the operator never changes it."""


def owner(found: Json | None, target: ServiceTarget) -> Owner:
    """Return the owner of an APIService; None means a missing one."""
    if found is None:
        return Owner.NONE
    if points_to(found, target):
        return Owner.APIEXT
    if is_ours(found):
        return Owner.APIEXT if is_ours(found, str(target.service)) else Owner.OTHER
    automanaged = labels_of(found).get(AUTOMANAGED)
    local = not found["spec"].get("service")
    return Owner.HOST if automanaged == ALWAYS or (local and automanaged is None) else Owner.OTHER


def points_to(found: Json, target: ServiceTarget) -> bool:
    """Return whether an APIService leads to the Service of apiext."""
    service = found["spec"].get("service") or {}
    return (service.get("namespace"), service.get("name")) == target.service
