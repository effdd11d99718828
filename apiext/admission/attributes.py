"""What admission is told of a write, and what it answers to (apiserver pkg/admission/attributes.go and interfaces.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.meta.json_codec import Object
from apiext.meta.request import UserInfo

OperationName = Literal["CREATE", "UPDATE", "DELETE"]
CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"


@dataclass(slots=True)
class Attributes:
    """One write. Mutating plug-ins change `new`, in place or by another object; nobody changes `old`."""

    operation: OperationName
    kind: GroupVersionKind
    resource: GroupVersionResource
    user: UserInfo
    subresource: str = ""
    namespace: str = ""
    """The namespace of the request; for namespaces themselves, their name."""
    name: str = ""
    """"" when the server is still to make one up, and for a deletecollection."""
    new: Object | None = None
    """None when deleting."""
    old: Object | None = None
    """None when creating."""
    dry_run: bool = False

    @property
    def object_name(self) -> str:
        """The name as refusals show it, also where none was made up yet."""
        if self.name:
            return self.name
        metadata = (self.new or {}).get("metadata") or {}
        return str(metadata.get("name") or metadata.get("generateName") or "Unknown")


class Admission(Protocol):
    """Judges writes: one plug-in, or all of them."""

    def handles(self, operation: str) -> bool:
        """Whether it cares about writes of this kind."""
        ...

    async def admit(self, attributes: Attributes) -> None:
        """Mutating admission; raises StatusError to refuse."""
        ...

    async def validate(self, attributes: Attributes) -> None:
        """Validating admission of what mutating admission left; raises StatusError to refuse."""
        ...


class Plugin:
    """A plug-in that lets everything pass; the others say what differs."""

    operations: frozenset[str] = frozenset({CREATE, UPDATE, DELETE})

    def handles(self, operation: str) -> bool:
        """Whether it cares about writes of this kind."""
        return operation in self.operations

    async def admit(self, attributes: Attributes) -> None:
        """Let it pass unchanged."""

    async def validate(self, attributes: Attributes) -> None:
        """Let it pass."""
