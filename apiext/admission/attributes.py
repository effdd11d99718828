"""Attributes of a write, and the interface of admission plug-ins (apiserver pkg/admission/attributes.go and interfaces.go)."""

from __future__ import annotations

from dataclasses import dataclass

from apiext.meta.encoding.json_codec import Object
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.meta.request import AdmissionOperation, UserInfo


@dataclass(slots=True)
class Attributes:
    """One write. Mutating plug-ins change `new` in place or replace it; `old` is never changed."""

    operation: AdmissionOperation
    kind: GroupVersionKind
    resource: GroupVersionResource
    user: UserInfo
    subresource: str = ""
    namespace: str = ""
    """The namespace of the request; for namespaces themselves, their name."""
    name: str = ""
    """Empty before the server generates a name, and for a deletecollection."""
    new: Object | None = None
    """The new object; None for a delete."""
    old: Object | None = None
    """The stored object; None for a create. A delete has at least apiVersion, kind and metadata."""
    dry_run: bool = False

    @property
    def object_name(self) -> str:
        """The name for error messages: generateName until the server has generated a name."""
        if self.name:
            return self.name
        metadata = (self.new or {}).get("metadata") or {}
        return str(metadata.get("name") or metadata.get("generateName") or "Unknown")


class Admission:
    """One plug-in, or a chain of them. The base class admits everything."""

    operations = frozenset(AdmissionOperation)

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether admission applies to an operation."""
        return operation in self.operations

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        Raises:
            StatusError: the write is rejected.
        """

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write after all mutations.

        Raises:
            StatusError: the write is rejected.
        """
