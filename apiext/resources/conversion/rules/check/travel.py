"""The way of a schema from one version to another: how parts of rules read and change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.conversion.rules.check.shape import ANYTHING, ChangingSchema
from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.check.report import CheckReport
    from apiext.resources.conversion.rules.model import FieldSteps


class Travel:
    """The way of a schema from one version to another through the rules of a spoke."""

    def __init__(self, shape: ChangingSchema, original: ChangingSchema, version: str, report: CheckReport) -> None:
        """Begin with the schema of the version; it is changed. `original` is the same, and stays as it is."""
        self.shape = shape
        self._original = original
        self.version = version
        self.unwrapped: list[FieldSteps] = []
        """Fields that a rule leaves behind although none names them."""
        self._report = report

    def find(self, steps: FieldSteps, place: str) -> tuple[ChangingSchema | None, bool]:
        """Return the schema of a field, and whether objects surely have it. Report a field that does not exist."""
        shape, sure = self.shape, True
        for index, step in enumerate(steps):
            child = shape.child(step)
            if child is None:
                self._report.problem(place, self._missing(shape, steps, index))
                return None, False
            sure = sure and shape.is_sure(step)
            shape = child
        return shape, sure

    def take(self, steps: FieldSteps, place: str) -> tuple[ChangingSchema | None, bool]:
        """Remove a field, and return it as `find` does."""
        found, sure = self.find(steps, place)
        parent, _ = self.find(steps[:-1], place) if found is not None else (None, False)
        if parent is not None:
            if steps[-1] == EACH:
                self._report.problem(place, "the path must end with the name of a field")
            parent.properties.pop(steps[-1], None)
            parent.required.discard(steps[-1])
            self._leave(steps[:-1])
        return found, sure

    def _leave(self, steps: FieldSteps) -> None:
        """Make an object optional that a move has left, or remove it if it has no other fields: emptied ones are removed."""
        if len(steps) < 2 or steps[-1] == EACH:
            return
        holder: ChangingSchema | None = self.shape
        for step in steps[:-1]:
            holder = None if holder is None else holder.child(step)
        emptied = None if holder is None else holder.properties.get(steps[-1])
        if holder is None or emptied is None:
            return
        holder.required.discard(steps[-1])
        if not emptied.properties and emptied.additional is None and not emptied.preserves:
            del holder.properties[steps[-1]]

    def put(self, steps: FieldSteps, shape: ChangingSchema, *, sure: bool, place: str, replaces: bool = False) -> None:
        """Set a field, with the objects around it. Report a field that is there already unless the rule `replaces` it."""
        holder = self.shape
        for index, step in enumerate(steps[:-1]):
            child = holder.child(step)
            if child is None:
                if step == EACH or (holder.types and "object" not in holder.types):
                    self._report.problem(place, self._missing(holder, steps, index))
                    return
                child = holder.properties[step] = ChangingSchema({"type": "object"}, place)
            if sure and step != EACH:
                holder.required.add(step)
            holder = child
        name = steps[-1]
        if holder.types and "object" not in holder.types:
            self._report.problem(place, self._missing(holder, steps, len(steps) - 1))
            return
        if not replaces and name in holder.properties and not holder.properties[name].placed:
            self._report.warn(place, f"{self.version} has a field {path_text(steps)} already, which the rule replaces; it is carried")
        shape.placed = place
        holder.properties[name] = shape
        if sure:
            holder.required.add(name)

    def mark_computed(self, steps: FieldSteps) -> None:
        """Mark a field, if it is there, as one that may end here."""
        shape: ChangingSchema | None = self.shape
        for step in steps:
            shape = None if shape is None else shape.child(step)
        if shape is not None:
            shape.is_computed = True

    def replace(self, steps: FieldSteps, shape: ChangingSchema) -> None:
        """Set what stands at the path of an existing field."""
        holder: ChangingSchema | None = self.shape
        for step in steps[:-1]:
            holder = None if holder is None else holder.child(step)
        if holder is None:
            return
        if steps[-1] == EACH:
            is_list = holder.items is not None
            changed = shape.as_list(holder.placed) if is_list else shape.as_map(holder.placed)
            self.replace(steps[:-1], changed)
        elif steps[-1] in holder.properties:
            holder.properties[steps[-1]] = shape

    def report_type(self, shape: ChangingSchema, wanted: frozenset[str], steps: FieldSteps, place: str) -> bool:
        """Return whether a field may have one of the wanted types. Report one that cannot."""
        if not shape.types or shape.types & wanted:
            return True
        actual = " or ".join(sorted(shape.types))
        self.problem(place, f"{path_text(steps)} is of type {actual} here, expected {' or '.join(sorted(wanted))}", steps)
        return False

    def _missing(self, shape: ChangingSchema, steps: FieldSteps, index: int) -> str:
        before, name = path_text(steps[:index]), path_text(steps[: index + 1])
        if shape.types and steps[index] == EACH:
            return f"{before} is neither a list nor a map in {self.version}"
        if shape.types and "object" not in shape.types:
            return f"{before} is of type {' or '.join(sorted(shape.types))} in {self.version}, which has no fields"
        moved = self._is_original(steps[: index + 1])
        return f"{name} is not there any more: an earlier rule took it" if moved else f"{self.version} has no field {name}"

    def _is_original(self, steps: FieldSteps) -> bool:
        shape: ChangingSchema | None = self._original
        for step in steps:
            shape = None if shape is None else shape.child(step)
        return shape is not None

    def problem(self, place: str, message: str, steps: FieldSteps = ()) -> None:
        """Report a problem. What becomes of the field at `steps` is then unknown."""
        self._report.problem(place, message)
        if steps:
            self.replace(steps, ChangingSchema(ANYTHING))
