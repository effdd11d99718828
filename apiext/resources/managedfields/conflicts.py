"""Conflicts of an apply with the fields of other managers (apimachinery pkg/util/managedfields/internal/conflict.go)."""

from __future__ import annotations

from collections.abc import Mapping

from apiext.base.meta.errors import StatusError
from apiext.base.meta.golang import formatting
from apiext.resources.managedfields import element, field_set
from apiext.resources.managedfields.field_set import FieldSet
from apiext.resources.managedfields.managers import UPDATE, Manager


class ApplyConflictError(Exception):
    """An apply would change fields of other managers."""

    def __init__(self, conflicts: Mapping[Manager, FieldSet]) -> None:
        super().__init__("conflicts")
        self.fields = conflicts
        self.conflicts = {
            manager: ["".join(map(element.text, path)) for path in field_set.paths(conflicts[manager])]
            for manager in sorted(conflicts, key=lambda manager: manager.identifier)
        }
        """Paths by manager, both in the order of messages."""

    def status(self) -> StatusError:
        """Return the answer to the request: 409 with one cause for each manager and field."""
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {_printed(manager)}", "field": path}
            for manager, paths in self.conflicts.items()
            for path in paths
        ]
        return StatusError(409, "Conflict", self._message(len(causes)), {"causes": causes})

    def _message(self, count: int) -> str:
        if count == 1:
            ((manager, (path,)),) = self.conflicts.items()
            return f"Apply failed with 1 conflict: conflict with {_printed(manager)}: {path}"
        lines = []
        for manager, paths in self.conflicts.items():
            lines += [f"conflicts with {_printed(manager)}:", *(f"- {path}" for path in paths)]
        text = "\n".join(lines)
        return f"Apply failed with {count} conflicts: {text}"


def _printed(manager: Manager) -> str:
    text = formatting.quote(manager.name)
    if manager.subresource:
        text += f" with subresource {formatting.quote(manager.subresource)}"
    return f"{text} using {manager.version}" if manager.operation == UPDATE else text
