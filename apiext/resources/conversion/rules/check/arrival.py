"""Comparison of a schema that has travelled through rules with the schema of the version in which it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.check.report import CarriedField
from apiext.resources.conversion.rules.check.shape import type_of
from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.paths import path_text
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.check.report import CheckReport
    from apiext.resources.conversion.rules.check.shape import ChangingSchema
    from apiext.resources.conversion.rules.model import FieldSteps

_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_WIDER: Final = {"number": frozenset({"integer", "number"})}
_SHOWN_VALUES: Final = 5


class Arrival:
    """Compares all that arrives in one direction of a spoke."""

    def __init__(self, source: str, target: str, spoke: str, report: CheckReport) -> None:
        """Compare schemas on the way from version source to target by the rules at the path `spoke`."""
        self._source = source
        self._target = target
        self._spoke = spoke
        self._report = report

    def compare(self, shape: ChangingSchema, target: ChangingSchema) -> None:
        """Report what the target does not specify, has as another type, or requires without a source."""
        self._object(shape, target, ())

    def _value(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        if not self._constants(shape, target):
            return
        if not shape.is_open and shape.raw == target.raw:
            return
        if not self._types(shape, target, steps):
            return
        self._enum(shape, target, steps)
        if "array" in shape.types and shape.items is not None and target.items is not None:
            self._value(shape.items, target.items, (*steps, EACH))
        elif "object" in shape.types and "object" in target.types:
            self._object(shape, target, steps)

    def _object(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        for name, child in shape.properties.items():
            if not steps and name in _IDENTITY:
                continue
            there = target.child(name)
            if there is not None:
                self._value(child, there, (*steps, name))
            elif child.is_computed:
                continue
            elif child.placed:
                self._report.problem(child.placed, f"{self._target} has no field {path_text((*steps, name))}")
            else:
                self._report.carried.append(CarriedField(self._source, self._target, path_text((*steps, name))))
        if shape.additional is not None and target.additional is not None:
            self._value(shape.additional, target.additional, (*steps, EACH))
        elif shape.additional is not None and not target.preserves:
            text = f"{path_text(steps)} is a map from {self._source}, and an object with named fields in {self._target}"
            self._report.warn(shape.placed or self._spoke, f"{text}: other entries are carried")
        self._required(shape, target, steps)

    def _required(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        for name in sorted(target.required - shape.required):
            if not steps and name in _IDENTITY:
                continue
            there = target.properties.get(name)
            if there is not None and there.raw.get("default") is not None:
                continue
            place, text = shape.placed or self._spoke, path_text((*steps, name))
            if shape.child(name) is None:
                message = f"{self._target} requires {text}, for which {self._source} has no source: add a default"
                self._report.problem(place, message, (self._target, text))
            else:
                self._report.warn(
                    place, f"{self._target} requires {text}, which objects of {self._source} may lack: a default would give it to all"
                )

    def _types(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> bool:
        """Return whether the types agree. Report those that do not."""
        actual, wanted = shape.types, target.types
        if not actual or not wanted:
            return True
        accepted = frozenset().union(*(_WIDER.get(each, frozenset({each})) for each in wanted))
        if shape.is_convertible:
            accepted |= frozenset({"string"}) if wanted & {"integer", "boolean"} else frozenset()
        if actual <= accepted:
            return True
        place, names = shape.placed or self._spoke, " or ".join(sorted(wanted))
        text = f"{path_text(steps)} is of type {' or '.join(sorted(actual))} from {self._source}, and {names} in {self._target}"
        if actual & accepted:
            self._report.warn(place, f"{text}: other values become invalid")
            return True
        self._report.problem(place, text if shape.placed else f"{text}; no rule converts it")
        return False

    def _enum(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        actual, allowed = shape.raw.get("enum"), target.raw.get("enum")
        if not allowed:
            return
        mapped = [value for value, _place in shape.constants]
        left = [value for value in actual or () if value not in allowed and value not in mapped]
        if left:
            values = ", ".join(map(repr, left[:_SHOWN_VALUES])) + (", ..." if len(left) > _SHOWN_VALUES else "")
            self._report.warn(
                shape.placed or self._spoke,
                f"{path_text(steps)} may have values from {self._source} that {self._target} does not allow: {values}",
            )

    def _constants(self, shape: ChangingSchema, target: ChangingSchema) -> bool:
        """Return whether the target allows all values that rules give. Report the others."""
        is_fine = True
        for value, place in shape.constants:
            wanted = target.types
            kinds = {type_of(value)} | ({"number"} if type_of(value) == "integer" else set())
            if wanted and not kinds & wanted:
                is_fine = False
                self._report.problem(place, f"the value {value!r} is not of type {' or '.join(sorted(wanted))}, as {self._target} wants")
                continue
            for error in _errors(value, target.raw):
                is_fine = False
                self._report.problem(place, f"{self._target} does not allow the value {value!r}: {error}")
        return is_fine


def _errors(value: Any, raw: Any) -> list[str]:
    """Return why a schema does not allow a value."""
    schema = CompiledSchema({"type": "object", "properties": {"value": raw}})
    return [each.body() for each in schema.validate_values({"value": value})]
