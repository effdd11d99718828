"""Changes of one field of an object, as an old or new client makes them between two conversions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.tools.judgement.field_paths import child
from apiext.tools.judgement.variants import ABSENT, at, other_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.compiled import CompiledSchema
    from apiext.schema.model import Structural
    from apiext.tools.judgement.field_paths import Step

_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
_REMOVAL: Final = 3
"""One of how many changes is a removal."""


def changed_object(obj: Object, schema: CompiledSchema, choice: int) -> tuple[Object, str] | None:
    """Return a copy of an object with one changed field, and the change in words. None if nothing can be changed.

    `choice` selects the first scalar to try, and whether it gets another value or is removed: every third one is. The changed object
    has no more violations of the schema than the given one.
    """
    leaves = [*_leaves(obj, schema.structural)]
    most = len(schema.validate_values(obj))
    for number in range(len(leaves)):
        steps, node, value = leaves[(choice + number) % len(leaves)]
        for change, text in _changes(node, value, steps[-1], is_removal=choice % _REMOVAL == _REMOVAL - 1):
            changed: Object = json_values.copy(obj)
            change(value_at(changed, steps[:-1]))
            if len(schema.validate_values(changed)) <= most and not schema.validate_lists(changed):
                return changed, f"{_text(steps)}: {text}"
    return None


def _changes(schema: Structural | None, value: Any, step: Step, *, is_removal: bool) -> Iterator[tuple[Callable[[Any], None], str]]:
    """Yield functions that change a scalar in what holds it, with words."""
    if is_removal:
        if isinstance(step, str):
            yield partial(_remove, step), f"{value!r} is removed"
        return
    for other in other_values(schema, value):
        yield partial(_set, step, other), f"{value!r} becomes {other!r}"


def _set(step: Step, value: Any, holder: Any) -> None:
    holder[step] = value


def _remove(step: Step, holder: Any) -> None:
    del holder[step]


def value_at(obj: Any, steps: Sequence[Step]) -> Any:
    """Return the value at a path, None if there is none."""
    found = at(obj, steps)
    return None if found is ABSENT else found


def _leaves(obj: Object, schema: Structural) -> Iterator[tuple[tuple[Step, ...], Structural | None, Any]]:
    for name, member in obj.items():
        if name not in _IDENTITY:
            yield from _below((name,), child(schema, name), member)


def _below(steps: tuple[Step, ...], schema: Structural | None, value: Any) -> Iterator[tuple[tuple[Step, ...], Structural | None, Any]]:
    if type(value) is dict:
        for name, member in value.items():
            yield from _below((*steps, name), child(schema, name), member)
    elif type(value) is list:
        for index, item in enumerate(value):
            yield from _below((*steps, index), child(schema, index), item)
    elif value is not None:
        yield steps, schema, value


def _text(steps: Sequence[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
