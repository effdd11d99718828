"""Where a walk through an object stands: cheap to extend on the way down, made a path only when there is something to tell."""

from __future__ import annotations

from typing import Any


class MapKey(str):
    """The key of a map, which a path shows in brackets."""

    __slots__ = ()


Trail = tuple[Any, str | int] | None
"""The trail of the parent, and a member's name, a map's key or a list's index; None at the root."""


def path_of(trail: Trail) -> str:
    """The path in the form of field errors: `spec.list[0].labels[key]`."""
    parts: list[str] = []
    while trail is not None:
        trail, step = trail
        if type(step) is str:
            parts.append(f".{step}" if trail is not None else step)
        else:
            parts.append(f"[{step}]")
    return "".join(reversed(parts))
