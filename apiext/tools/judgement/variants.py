"""Valid changes of an object between two conversions: another value of a field, or a field less."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.evaluation.field_paths import Step, child, general

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.evaluated_definition import EvaluatedVersion
    from apiext.schema.model import Structural

_TRIALS: Final = 3
"""Objects in which a field is changed, and in which it is removed."""
_ATTEMPTS: Final = 20
"""Fields of one object that are tried until a change is valid."""
_TYPE_META: Final = frozenset({"apiVersion", "kind", "metadata"})


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

    def __init__(self, version: EvaluatedVersion) -> None:
        self._version = version
        self._schema = version.schema.structural
        self._tried: dict[tuple[str, bool], int] = {}

    def of(self, obj: Object) -> list[ChangedObject]:
        """Return an object with a changed field, and one with a field less, if valid ones are left to try."""
        found = (self._variant(obj, is_removal=False), self._variant(obj, is_removal=True))
        return [variant for variant in found if variant is not None]

    def _variant(self, obj: Object, *, is_removal: bool) -> ChangedObject | None:
        attempts = 0
        for steps, schema, value in _leaves(obj, self._schema):
            path = general(list(steps), self._schema)
            if self._tried.get((path, is_removal), 0) >= _TRIALS:
                continue
            attempts += 1
            if attempts > _ATTEMPTS:
                return None
            for change in [_remove] if is_removal else _changes(schema, value):
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


ABSENT: Final = object()


def at(obj: Any, steps: Iterable[Step]) -> Any:
    """Return the value at a path, ABSENT if there is none."""
    for step in steps:
        is_there = step in obj if type(obj) is dict else type(obj) is list and isinstance(step, int) and step < len(obj)
        if not is_there:
            return ABSENT
        obj = obj[step]
    return obj


def _leaves(obj: Object, schema: Structural) -> Iterator[tuple[tuple[Step, ...], Structural | None, Any]]:
    """Yield the path, schema and value of each scalar that is a member of an object, outside the metadata."""
    for name, member in obj.items():
        if name not in _TYPE_META:
            yield from _below((name,), child(schema, name), member)


def _below(steps: tuple[Step, ...], schema: Structural | None, value: Any) -> Iterator[tuple[tuple[Step, ...], Structural | None, Any]]:
    if type(value) is dict:
        for name, member in value.items():
            yield from _below((*steps, name), child(schema, name), member)
    elif type(value) is list:
        for index, item in enumerate(value):
            if type(item) in (dict, list):
                yield from _below((*steps, index), child(schema, index), item)
    else:
        yield steps, schema, value


def _remove(holder: Any, step: Step) -> None:
    del holder[step]


def _changes(schema: Structural | None, value: Any) -> Iterator[Callable[[Any, Step], None]]:
    """Yield functions that set another value."""
    for other in other_values(schema, value):
        yield partial(_set, other)


def _set(value: Any, holder: Any, step: Step) -> None:
    holder[step] = value


def other_values(schema: Structural | None, value: Any) -> Iterator[Any]:
    """Yield other values for a scalar: those of its enum, else some of its type. Other rules of the schema may forbid them."""
    allowed = None if schema is None else schema.raw.get("enum")
    if allowed:
        yield from (each for each in allowed if each != value and each is not None)
    elif type(value) is bool:
        yield not value
    elif type(value) is int or type(value) is float:
        yield from (value + 1, value - 1)
    elif type(value) is str:
        yield from (f"{value}x", value[:-1], f"{value}1")
