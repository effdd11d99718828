"""Split and join."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.rules.operations.fields import FieldAccess
from apiext.resources.conversion.rules.operations.operation import INEXACT, MISSING, Reversible, Step
from apiext.resources.conversion.rules.operations.walk import in_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.resources.conversion.rules.model import FieldSteps, Join, Split


_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_BOOLEANS: Final = {"true": True, "false": False}


class PartType(Enum):
    """The type of a field, as far as its text is concerned."""

    TEXT = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    INTEGER_OR_TEXT = "int-or-string"


def part_text(value: Any) -> str | None:
    """Return the text of a value, None if it has none."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) is int else None


def part_value(text: str, kind: PartType) -> Any:
    """Return the value of a type with a text, MISSING if there is none."""
    if kind is PartType.TEXT:
        return text
    if kind is PartType.BOOLEAN:
        return _BOOLEANS.get(text, MISSING)
    if _INTEGER.fullmatch(text):
        return int(text)
    return text if kind is PartType.INTEGER_OR_TEXT else MISSING


def compile_split(rule: Split, whole: PartType, kinds: Sequence[PartType]) -> Reversible:
    """Return the functions of a rule. `whole` is the type of the divided field, `kinds` are those of the parts."""
    return _operation((rule.source, *rule.targets), _Separation(rule.separator, whole, kinds, last=rule.last))


def compile_join(rule: Join, whole: PartType, kinds: Sequence[PartType]) -> Reversible:
    """Return the functions of a rule. `whole` is the type of the joined field, `kinds` are those of the parts."""
    return _operation((rule.target, *rule.sources), _Separation(rule.separator, whole, kinds, last=rule.last)).reversed()


def _operation(paths: tuple[FieldSteps, ...], separation: _Separation) -> Reversible:
    return Reversible(in_objects(paths, separation.dividing), in_objects(paths, separation.uniting))


class _Separation:
    """A text, and the fields with its parts."""

    def __init__(self, separator: str, whole: PartType, kinds: Sequence[PartType], *, last: bool) -> None:
        self._separator = separator
        self._whole = whole
        self._kinds = tuple(kinds)
        self._split = str.rsplit if last else str.split

    def dividing(self, source: FieldSteps, *targets: FieldSteps) -> Step:
        """Return the step from the text to its parts. A text with fewer parts leaves out the last fields."""
        whole, parts = FieldAccess(source), [FieldAccess(target) for target in targets]

        def divide(container: Any) -> bool:
            value = whole.get(container)
            text = None if value is MISSING else part_text(value)
            if text is None:
                # the way back would join the parts that are there
                return all(part.get(container) is MISSING for part in parts)
            whole.take(container)
            values = self._parts(text)
            is_exact = json_values.equal(self._united(values), value)
            for part, found in zip(parts, values, strict=True):
                if found is not MISSING:
                    is_exact = part.place(container, found) and is_exact
                elif part.get(container) is not MISSING:
                    is_exact = INEXACT
            return is_exact

        return divide

    def uniting(self, target: FieldSteps, *sources: FieldSteps) -> Step:
        """Return the step from the parts to the text. Missing parts leave no separator."""
        whole, parts = FieldAccess(target), [FieldAccess(source) for source in sources]

        def unite(container: Any) -> bool:
            values = [part.get(container) for part in parts]
            if all(value is MISSING for value in values):
                # the way back would divide the text that is there
                return whole.get(container) is MISSING
            united = self._united(values)
            if united is MISSING:
                return INEXACT
            for part in parts:
                part.take(container)
            found = self._parts(part_text(united) or "")
            return whole.place(container, united) and all(map(_is_same, found, values))

        return unite

    def _parts(self, text: str) -> list[Any]:
        """Return the values of all parts of a text, MISSING for those that it does not have."""
        parts = self._split(text, self._separator, len(self._kinds) - 1)
        values = [part_value(part, kind) for part, kind in zip(parts, self._kinds, strict=False)]
        return values + [MISSING] * (len(self._kinds) - len(values))

    def _united(self, values: Sequence[Any]) -> Any:
        """Return the value of the parts together, MISSING if there is none."""
        texts = [part_text(value) for value in values if value is not MISSING]
        known = [text for text in texts if text is not None]
        return part_value(self._separator.join(known), self._whole) if len(known) == len(texts) else MISSING


def _is_same(left: Any, right: Any) -> bool:
    return left is right or json_values.equal(left, right)
