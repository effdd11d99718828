"""Leads steps to their place in an object, through every item of lists and every value of maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.operations.operation import EXACT, MISSING, Step
from apiext.resources.conversion.rules.paths import prefix_length

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps

Change = Callable[[Any], tuple[Any, bool]]
"""Returns the value in place of another one, MISSING to remove it, and whether the opposite change surely gives the first one again."""


def in_each(prefix: FieldSteps, action: Step) -> Step:
    """Return a step that takes an action on the objects at a path that is empty or ends with [*]."""
    if not prefix:
        return action
    position = prefix.index(EACH)
    names, inner = prefix[:position], in_each(prefix[position + 1 :], action)

    def step(value: Any) -> bool:
        for name in names:
            if type(value) is not dict:
                return EXACT
            value = value.get(name)
        is_exact = True
        for item in value if type(value) is list else value.values() if type(value) is dict else ():
            if type(item) is dict or type(item) is list:
                is_exact = inner(item) and is_exact
        return is_exact

    return step


def in_objects(paths: tuple[FieldSteps, ...], action: Callable[..., Step]) -> Step:
    """Return the step of related paths: `action` gets them without their common prefix, and returns the step for each object there."""
    length = prefix_length(paths[0])
    inner = action(*(path[length:] for path in paths))

    def step(value: Any) -> bool:
        return inner(value) if type(value) is dict else EXACT

    return in_each(paths[0][:length], step) if length else inner


def at_values(path: FieldSteps, change: Change) -> Step:
    """Return a step that replaces the values at a path."""
    if path[-1] == EACH:
        return _at_members(path[:-1], change)
    length = prefix_length(path)
    parents, name = path[length:-1], path[-1]

    def step(value: Any) -> bool:
        for parent in parents:
            if type(value) is not dict:
                return EXACT
            value = value.get(parent)
        if type(value) is not dict or name not in value:
            return EXACT
        changed, is_exact = change(value[name])
        if changed is MISSING:
            del value[name]
        else:
            value[name] = changed
        return is_exact

    return in_each(path[:length], step)


def _at_members(path: FieldSteps, change: Change) -> Step:
    """Return a step that replaces the items of the lists, and the values of the maps, at a path."""

    def members(value: Any) -> tuple[Any, bool]:
        if type(value) is list:
            found = [change(item) for item in value]
            value[:] = [changed for changed, _ in found if changed is not MISSING]
        elif type(value) is dict:
            found = [change(item) for item in value.values()]
            changed = {key: changed for key, (changed, _) in zip(value, found, strict=True) if changed is not MISSING}
            value.clear()
            value.update(changed)
        else:
            return value, EXACT
        return value, all(is_exact for _, is_exact in found)

    return at_values(path, members)
