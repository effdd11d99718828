"""Valid changes of an object between two conversions: another value of a field, or a field less."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.evaluation.fields import Step, at, general, other_values, scalars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.compiled_version import CompiledVersion

_TRIALS: Final = 3
"""Objects in which a field is changed, and in which it is removed."""
_ATTEMPTS: Final = 20
"""Fields of one object that are tried until a change is valid."""


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """An object with one change."""

    object: Object
    steps: tuple[Step, ...]
    """The path of the changed field."""
    path: str
    """The general path."""
    before: Any
    """The former value."""
    is_removal: bool


class Variants:
    """Changes objects of one version: each field in a few objects."""

    def __init__(self, version: CompiledVersion) -> None:
        self._version = version
        self._schema = version.schema.structural
        self._tried: dict[tuple[str, bool], int] = {}

    def of(self, obj: Object) -> list[ChangedObject]:
        """Return an object with a changed field, and one with a field less, if valid ones are left to try."""
        found = (self._variant(obj, is_removal=False), self._variant(obj, is_removal=True))
        return [variant for variant in found if variant is not None]

    def _variant(self, obj: Object, *, is_removal: bool) -> ChangedObject | None:
        attempts = 0
        for steps, schema, value in scalars(obj, self._schema):
            if isinstance(steps[-1], int):
                continue
            path = general(list(steps), self._schema)
            if self._tried.get((path, is_removal), 0) >= _TRIALS:
                continue
            attempts += 1
            if attempts > _ATTEMPTS:
                return None
            changes: Iterable[Callable[[Any, Step], None]] = [_remove] if is_removal else map(_setter, other_values(schema, value))
            for change in changes:
                changed = self._changed(obj, steps, change)
                if changed is not None:
                    self._tried[path, is_removal] = self._tried.get((path, is_removal), 0) + 1
                    return ChangedObject(changed, steps, path, value, is_removal)
        return None

    def _changed(self, obj: Object, steps: tuple[Step, ...], change: Callable[[Any, Step], None]) -> Object | None:
        """Return a changed copy as a request's body is decoded, None if it is invalid or the decoding undoes the change."""
        changed: Object = json_values.copy(obj)
        holder: Any = changed
        for step in steps[:-1]:
            holder = holder[step]
        change(holder, steps[-1])
        wanted = at(changed, steps)
        try:
            self._version.codec.decode_body(changed, False)  # noqa: FBT003 the codec's interface
        except ValueError:
            return None
        if at(changed, steps) != wanted or self._version.create_errors(changed):
            return None
        return changed


def _remove(holder: Any, step: Step) -> None:
    del holder[step]


def _setter(value: Any) -> Callable[[Any, Step], None]:
    return partial(_set, value)


def _set(value: Any, holder: Any, step: Step) -> None:
    holder[step] = value
