"""The places of a schema at which objects have values."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
TYPE_META: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(slots=True)
class Place:
    """A node of a structural schema."""

    path: str
    schema: Json
    """May be changed in place."""
    values: list[Any] = field(default_factory=list)
    """The values of objects."""

    @property
    def type(self) -> str:
        """Return the type, "" if there is none."""
        return str(self.schema.get("type", ""))

    @property
    def maps(self) -> list[Json]:
        """Return the values that have members."""
        return [value for value in self.values if isinstance(value, dict)]

    def used(self, properties: Json) -> list[str]:
        """Return the properties that objects have, or all."""
        return [name for name in properties if any(name in value for value in self.maps)] or list(properties)


Mutation = Callable[[Place, random.Random], str | None]
"""Changes a node as authors of releases do, and returns what it did; None if the node does not allow it."""


def places(root: Json, objects: Sequence[Json]) -> list[Place]:
    """Return the nodes of a schema, each before those below it, with the values of objects. The path of the root is "root".

    The fields of metadata do not count.
    """
    found = [Place("root", root, list(objects))]
    for name, child in (root.get("properties") or {}).items():
        if name not in TYPE_META:
            found += _below(Place(name, child, [obj[name] for obj in objects if name in obj]))
    return found


def _below(place: Place) -> Iterator[Place]:
    yield place
    schema = place.schema
    for name, child in (schema.get("properties") or {}).items():
        if not (schema.get(EMBEDDED) and name in TYPE_META):
            yield from _below(Place(f"{place.path}.{name}", child, [value[name] for value in place.maps if name in value]))
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _below(Place(f"{place.path}[]", items, [item for value in place.values if isinstance(value, list) for item in value]))
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        yield from _below(Place(f"{place.path}[]", others, [item for value in place.maps for item in value.values()]))
