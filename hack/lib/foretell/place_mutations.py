"""Puts a node of another kind in the place of one: properties, values of a map, unknown fields, items, int-or-string, a resource.

Each function is a mutation, as in schema_mutations.
"""

from __future__ import annotations

import copy
import random
from typing import Any, Final

from hack.lib.foretell.schema_places import EMBEDDED, PRESERVE, TYPE_META, Json, Mutation, Place

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_ANY: Final = {PRESERVE: True}
_KEPT: Final = ("description", "nullable")
"""Keywords that mean the same for every kind of value."""
_MOST_KEYS: Final = 3


def become_map(place: Place, rng: random.Random) -> str | None:
    """Make the properties of an object values of a map; not at the root, where no server accepts a map."""
    properties = place.schema.get("properties") or {}
    if place.type != "object" or not properties or place.path == "root" or place.schema.get(EMBEDDED):
        return None
    name = rng.choice(place.used(properties))
    values = _instead(properties[name], _members(place, name), rng)
    _replace(place.schema, {"type": "object", "additionalProperties": values})
    return f"properties -> map of {values}"


def become_object(place: Place, rng: random.Random) -> str | None:
    """Name the keys of a map, or unknown fields, as properties."""
    values = place.schema.get("additionalProperties")
    if place.type != "object" or place.path == "root" or not (isinstance(values, dict) or place.schema.get(PRESERVE)):
        return None
    known = sorted({name for value in place.maps for name in value} - TYPE_META)
    names = rng.sample(known, min(len(known), _MOST_KEYS)) or ["key0"]
    properties = {name: _instead(values if isinstance(values, dict) else _ANY, _members(place, name), rng) for name in names}
    former = place.schema.get("properties") or {}
    _replace(place.schema, {"type": "object", "properties": former | properties} | (_ANY if rng.random() < 0.5 else {}))
    return f"{'map' if values else 'unknown fields'} -> {properties}"


def open_up(place: Place, rng: random.Random) -> str | None:
    """Keep all fields of an object unchecked, or every value."""
    if place.type != "object" or place.path == "root" or not (place.schema.get("properties") or place.schema.get("additionalProperties")):
        return None
    _replace(place.schema, _ANY | ({"type": "object"} if rng.random() < 0.5 else {}))
    return f"an object -> {place.schema}"


def specify(place: Place, rng: random.Random) -> str | None:
    """Give a value of any type, or the unknown fields of an object, a schema."""
    if not place.schema.get(PRESERVE) or place.path == "root" or place.schema.get(EMBEDDED):
        return None
    if not place.type:
        made = _instead(_ANY, place.values, rng)
    elif place.type == "object" and not place.schema.get("properties"):
        made = {"type": "object", "additionalProperties": _instead(_ANY, [each for value in place.maps for each in value.values()], rng)}
    else:
        return None
    _replace(place.schema, made)
    return f"any -> {made}"


def change_int_or_string(place: Place, rng: random.Random) -> str | None:
    """Make a number or text int-or-string, or that one of another type."""
    if place.schema.get(_INT_OR_STRING):
        _replace(place.schema, rng.choice(({"type": "integer"}, {"type": "string"}, dict(_ANY))))
    elif place.type in ("integer", "string", "number"):
        _replace(place.schema, {_INT_OR_STRING: True})
    else:
        return None
    return f"int-or-string -> or <- {place.schema}"


def change_items(place: Place, rng: random.Random) -> str | None:
    """Give the items of a list another schema, keep their unknown fields, or make a value the item of a list."""
    if place.path == "root" or not place.schema:
        return None
    if place.type != "array":
        _replace(place.schema, {"type": "array", "items": copy.deepcopy(place.schema)})
        return "value -> list"
    if rng.random() < 0.4:
        place.schema[PRESERVE] = not place.schema.pop(PRESERVE, False)
        return f"a list that preserves unknown fields: {place.schema[PRESERVE]}"
    items = [item for value in place.values if isinstance(value, list) for item in value]
    place.schema["items"] = _instead(place.schema["items"], items, rng)
    return f"items -> {place.schema['items']}"


def embed(place: Place, _rng: random.Random) -> str | None:
    """Make an object a resource, or no longer."""
    if place.type != "object" or place.path == "root" or "additionalProperties" in place.schema:
        return None
    if place.schema.pop(EMBEDDED, False):
        return "no longer a resource"
    place.schema[EMBEDDED] = True
    return "a resource"


PLACE_MUTATIONS: Final[tuple[Mutation, ...]] = (
    become_map,
    become_object,
    open_up,
    specify,
    change_int_or_string,
    change_items,
    embed,
)


def _instead(schema: Json, values: list[Any], rng: random.Random) -> Json:
    """Return a schema for the place of another one: the same, a narrower, a wider, or one of another type."""
    same = {keyword: copy.deepcopy(value) for keyword, value in schema.items() if keyword != "default"}
    texts = sorted({value for value in values if isinstance(value, str)})
    maps = [value for value in values if isinstance(value, dict)]
    choices: list[Json] = [
        *[same] * 3,
        dict(_ANY),
        {_INT_OR_STRING: True},
        {"type": rng.choice(("string", "integer", "boolean"))},
        {"type": "string", "enum": [*texts[:1], "other"]},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ]
    if maps:
        chosen = rng.choice(maps)
        choices.append({"type": "object", "properties": {name: _typed(value) for name, value in chosen.items()}})
        choices.append({"type": "object", PRESERVE: True, "enum": maps[:2]})
    elif values:
        choices.append(_typed(rng.choice(values)))
    return rng.choice(choices)


def _typed(value: Any) -> Json:
    """Return a schema that accepts a value, and keeps all that it has."""
    if isinstance(value, list):
        return {"type": "array", "items": _typed(value[0]) if value else dict(_ANY)}
    if isinstance(value, dict):
        return {"type": "object", PRESERVE: True}
    kinds: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds[type(value)]} if type(value) in kinds else dict(_ANY)


def _members(place: Place, name: str) -> list[Any]:
    return [value[name] for value in place.maps if name in value]


def _replace(schema: Json, made: Json) -> None:
    kept = {keyword: schema[keyword] for keyword in _KEPT if keyword in schema}
    schema.clear()
    schema.update(kept | made)
