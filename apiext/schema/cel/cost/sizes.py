"""Sizes of values as the schema limits them (sizeEstimator in compilation.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apiext.schema.cel.cost.estimate import ZERO, Estimate
from apiext.schema.cel.cost.operand import DeclarationPath, SizeOf
from apiext.schema.cel.declarations import Declaration

KEYS: Final = "@keys"
_ELEMENTS: Final = ("@items", "@values")


def declared_sizes(root: Declaration) -> SizeOf:
    """Return the sizes that the reference estimates with, for variables that all have the declaration `root`.

    Keys of maps, objects and numbers have the size 0, and identifiers of other things count as variables.
    """

    def size_of(path: DeclarationPath) -> Estimate | None:
        *way, last = path.steps
        if last == KEYS and way:
            container = declaration_at(root, way[1:])
            return ZERO if container is not None and container.kind.name == "map" else None
        declaration = declaration_at(root, path.steps[1:])
        return None if declaration is None else Estimate(0, declaration.max_elements)

    return size_of


def declaration_at(root: Declaration, steps: Sequence[str]) -> Declaration | None:
    """Return the declaration that some steps lead to, None if there is none."""
    declaration: Declaration | None = root
    for step in steps:
        if declaration is None:
            return None
        if step in _ELEMENTS:
            declaration = declaration.element
        else:
            field = declaration.fields.get(step)
            declaration = None if field is None else field.declaration
    return declaration
