"""Field paths for walks through an object: cheap to extend, converted to text for errors only."""

from __future__ import annotations

from typing import Any


class MapKey(str):
    """A map's key, which a path shows in brackets."""

    __slots__ = ()


class DottedPath:
    """A path as a chain of steps, each with its dot or brackets; empty for the object itself."""

    __slots__ = ("parent", "step")

    def __init__(self, parent: DottedPath | None = None, step: str = "") -> None:
        self.parent = parent
        self.step = step

    def __bool__(self) -> bool:
        return self.parent is not None

    def __str__(self) -> str:
        parts: list[str] = []
        path: DottedPath | None = self
        while path is not None:
            parts.append(path.step)
            path = path.parent
        return "".join(reversed(parts))


Location = tuple[Any, str | int] | None
"""Path of the parent and a member's name, a map's key or a list's index; None at the root."""


class LocationPath:
    """The path of a location, converted to text on demand."""

    __slots__ = ("location",)

    def __init__(self, location: Location) -> None:
        self.location = location

    def __str__(self) -> str:
        return path_of(self.location)


def path_of(location: Location) -> str:
    """Return the path in the form of field errors: `spec.list[0].labels[key]`."""
    parts: list[str] = []
    while location is not None:
        location, step = location
        if type(step) is str:
            parts.append(f".{step}" if location is not None else step)
        else:
            parts.append(f"[{step}]")
    return "".join(reversed(parts))
