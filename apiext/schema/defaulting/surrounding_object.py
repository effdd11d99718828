"""An object around a default value, as deep as the value's place in the schema (defaulting/surroundingobject.go)."""

from __future__ import annotations

from typing import Any

from apiext.schema.model import Structural

ABSENT: Any = object()
"""What focus gives when the value is no longer there."""


def steps_to(node: Structural, root: Structural) -> list[str | None]:
    """The properties (None for an item) that lead from the root to the node."""
    steps: list[str | None] = []
    here: Structural | None = node
    while here is not None and here is not root:
        steps.append(here.step)
        here = here.parent
    steps.reverse()
    return steps


def surround(value: Any, steps: list[str | None]) -> Any:
    """The smallest object that has the value at the end of the steps."""
    for step in reversed(steps):
        value = [value] if step is None else {step: value}
    return value


def focus(obj: Any, steps: list[str | None]) -> Any:
    """The value at the end of the steps, ABSENT if there is none."""
    for step in steps:
        if step is None:
            if not isinstance(obj, list) or not obj:
                return ABSENT
            obj = obj[0]
        elif not isinstance(obj, dict) or step not in obj:
            return ABSENT
        else:
            obj = obj[step]
    return obj
