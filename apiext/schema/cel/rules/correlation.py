"""Finds out whether a failed rule concerns an unchanged value (ratchetingOptions of validation.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.schema.lazy_path import Location
    from apiext.schema.validation.correlated import Correlated

_TYPE_META: Final = frozenset({"apiVersion", "kind"})


def is_unchanged(root: Correlated, location: Location, *, nested: bool = False) -> bool:
    """Return whether the value at a location is unchanged. If it has no old counterpart, use the nearest value around it that has one.

    With `nested`, for schemas inside allOf, ignore the value's own counterpart.
    """
    current: Correlated | None = root
    nearest: Correlated | None = None
    for step in _steps(location):
        if current is None:
            break
        if nearest is None and step in _TYPE_META:
            # kind and apiVersion are never ratcheted
            return False
        nearest, current = current, current.key(step) if isinstance(step, str) else current.index(step)
    if nested or current is None:
        current = nearest
    return current is not None and current.equal


def _steps(location: Location) -> list[str | int]:
    steps: list[str | int] = []
    while location is not None:
        location, step = location
        steps.append(step)
    return steps[::-1]
