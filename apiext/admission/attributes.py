"""Attributes of a write, and the interface of admission plug-ins (apiserver pkg/admission/attributes.go and interfaces.go)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apiext.admission.object_interfaces import ObjectInterfaces
from apiext.meta.encoding.json_codec import Object
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.meta.request import AdmissionOperation, UserInfo


@dataclass(slots=True)
class Reinvocation:
    """What plug-ins need to run a second time in one mutation (apiserver pkg/admission, ReinvocationContext)."""

    runs_again: bool = False
    """Whether this is the second run."""
    is_required: bool = False
    """Whether a plug-in has changed the object so that the chain must run again."""
    values: dict[str, Any] = field(default_factory=dict)
    """State of plug-ins by their names."""


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
    options: Callable[[], Object] | None = None
    """Returns the options of the operation as an object of meta.k8s.io/v1, such as CreateOptions."""
    objects: ObjectInterfaces | None = None
    """What plug-ins may do with objects of the resource; None for writes that only built-in plug-ins see."""
    warnings: list[str] = field(default_factory=list)
    """Messages for Warning headers; plug-ins append to them."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations of the audit event by qualified key; the first value of a key stays."""
    deadline: float = math.inf
    """The end of the request's time as `time.monotonic`."""
    reinvocation: Reinvocation = field(default_factory=Reinvocation)

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
