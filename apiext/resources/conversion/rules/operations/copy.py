"""Copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.limits import MAX_STORED_BYTES
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.operations.fields import FieldAccess
from apiext.resources.conversion.rules.operations.operation import INEXACT, MISSING, Reversible, Step
from apiext.resources.conversion.rules.operations.walk import in_objects
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from apiext.resources.conversion.rules import model
    from apiext.resources.conversion.rules.model import FieldSteps


def compile_copy(rule: model.Copy) -> Reversible:
    """Return the functions of a rule."""
    paths = (rule.source, rule.target)
    return Reversible(in_objects(paths, _copying), in_objects(paths, _removing))


def _copying(source: FieldSteps, target: FieldSteps) -> Step:
    copied, placed = FieldAccess(source), FieldAccess(target)

    def copy(container: Any) -> bool:
        value = copied.get(container)
        if value is MISSING:
            return placed.get(container) is MISSING
        return placed.place(container, _copied(value, source))

    return copy


def _copied(value: Any, path: FieldSteps) -> Any:
    """Return a copy of a value at a path. Raise ConversionError if it is too large: copies of copies double each time."""
    if type(value) is not dict and type(value) is not list:
        return value
    if len(json_codec.dumps(value)) > MAX_STORED_BYTES:
        raise ConversionError(f"{path_text(path)} cannot be copied: it has more than {MAX_STORED_BYTES} bytes")
    return json_values.copy(value)


def _removing(source: FieldSteps, target: FieldSteps) -> Step:
    kept, removed = FieldAccess(source), FieldAccess(target)

    def remove(container: Any) -> bool:
        value = removed.take(container)
        original = kept.get(container)
        if value is MISSING or original is MISSING:
            # the way back would copy what is there
            return value is original
        return json_values.equal(value, original) or INEXACT

    return remove
