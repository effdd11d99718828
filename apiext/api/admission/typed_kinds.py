"""Kinds for which the reference has a Go type where it follows parameters of policies."""

from __future__ import annotations

from typing import Final

_TYPED_GROUPS: Final = frozenset(
    {"", "apps", "autoscaling", "batch", "extensions", "policy"}
    | {f"{prefix}.k8s.io" for prefix in ("admissionregistration", "authentication", "authorization", "certificates", "coordination")}
    | {f"{prefix}.k8s.io" for prefix in ("discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "networking", "node")}
    | {f"{prefix}.k8s.io" for prefix in ("rbac.authorization", "resource", "scheduling", "storage", "storagemigration")}
)
"""Groups of the kinds that client-go knows: upstream's informers of them have objects without apiVersion and kind."""


def is_typed(api_version: str) -> bool:
    """Return whether client-go has Go types for the kinds of a group and version."""
    return api_version.rpartition("/")[0] in _TYPED_GROUPS
