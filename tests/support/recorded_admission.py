"""An admission plug-in for tests: records what it sees, and changes objects by a function."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apiext.api.admission.attributes import Admission, Attributes


@dataclass(slots=True)
class Seen:
    """A call of the plug-in."""

    phase: str
    operation: str
    name: str
    resource: str
    kind: str
    options: dict[str, Any]
    new: dict[str, Any] | None
    old: dict[str, Any] | None
    dry_run: bool


@dataclass(slots=True, eq=False)
class RecordedAdmission(Admission):
    """Records the writes of custom resources of one group. `change` replaces new objects, in mutating admission."""

    change: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    group: str = "example.com"
    seen: list[Seen] = field(default_factory=list)
    attributes: list[Attributes] = field(default_factory=list)

    async def admit(self, attributes: Attributes) -> None:
        """Record a write, and change its object."""
        self._record("admit", attributes)
        if attributes.new is not None and attributes.objects is not None and self.change is not None:
            attributes.new = await attributes.objects.complete(self.change(copy.deepcopy(attributes.new)))

    async def validate(self, attributes: Attributes) -> None:
        """Record a write."""
        self._record("validate", attributes)

    def _record(self, phase: str, attributes: Attributes) -> None:
        if attributes.resource.group != self.group:
            return
        self.attributes.append(attributes)
        self.seen.append(
            Seen(
                phase=phase,
                operation=str(attributes.operation),
                name=attributes.name,
                resource="/".join(filter(None, (attributes.resource.resource, attributes.subresource))),
                kind=attributes.kind.kind,
                options=attributes.options() if attributes.options is not None else {},
                new=copy.deepcopy(attributes.new),
                old=copy.deepcopy(attributes.old),
                dry_run=attributes.dry_run,
            )
        )
