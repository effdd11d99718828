"""Names of objects on the host."""

from __future__ import annotations

from typing import NamedTuple


class NamespacedName(NamedTuple):
    """Name of an object in a namespace (apimachinery types.NamespacedName)."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def host(self) -> str:
        """The DNS name with which kube-apiserver calls a Service; apiext's certificate must have it."""
        return f"{self.name}.{self.namespace}.svc"
