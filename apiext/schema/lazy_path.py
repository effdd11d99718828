"""Field paths of a walk through an object: cheap to extend, converted to text when an error needs them."""

from __future__ import annotations

from typing import Any


class MapKey(str):
    """The key of a map, which a path shows in brackets."""

    __slots__ = ()


Location = tuple[Any, str | int] | None
"""Path of the parent and a member's name, a map's key or a list's index; None at the root."""


def path_of(location: Location) -> str:
    """Return the path as field errors show it: `spec.list[0].labels[key]`."""
    parts: list[str] = []
    while location is not None:
        location, step = location
        if type(step) is str:
            parts.append(f".{step}" if location is not None else step)
        else:
            parts.append(f"[{step}]")
    return "".join(reversed(parts))
