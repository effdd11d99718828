"""Changes one node of a schema as authors of releases do. Each function returns what it did, None if the node does not allow it."""

from __future__ import annotations

import copy
import random
from typing import Any, Final

from hack.lib.differential.generated_objects import generate
from hack.lib.foretell.place_mutations import PLACE_MUTATIONS
from hack.lib.foretell.schema_places import PRESERVE, Json, Mutation, Place

RULES: Final = "x-kubernetes-validations"
_OF_KIND: Final = 0.3
"""Share of the changes that put a node of another kind in the place of one, if they can."""
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_NEW_RULES: Final = ("self == oldSelf", "true", "self == self && false", "type(self) == type(self)")
_RULES_BY_TYPE: Final = {
    "string": ("self.size() < 4", "self.startsWith('a')", "self != oldSelf", "self != oldSelf || self.size() > 2"),
    "integer": ("self >= oldSelf", "self > oldSelf", "self > 3", "self % 2 == 0"),
    "array": ("self.size() < 2", "self.size() >= oldSelf.size()"),
    "object": ("self.size() < 2",),
}
_OTHER_TYPES: Final = {"string": ("integer", "boolean"), "integer": ("string", "number"), "boolean": ("string",), "number": ("integer",)}
_BOUNDS: Final = {
    "string": (("maxLength", -1), ("minLength", 1)),
    "array": (("maxItems", -1), ("minItems", 1)),
    "integer": (("maximum", -1), ("minimum", 1)),
    "number": (("maximum", -1), ("minimum", 1)),
    "object": (("maxProperties", -1), ("minProperties", 1)),
}
"""Keywords, and the direction in which they become narrower."""


def change_bound(place: Place, rng: random.Random) -> str | None:
    """Narrow, widen or remove a bound, near the values of objects."""
    if place.type not in _BOUNDS or PRESERVE in place.schema:
        return None
    keyword, narrower = rng.choice(_BOUNDS[place.type])
    before = place.schema.get(keyword)
    if before is not None and rng.random() < 0.3:
        del place.schema[keyword]
        return f"{keyword} removed"
    sizes = [_size(value) for value in place.values if not isinstance(value, bool | None)]
    base = before if before is not None and (not sizes or rng.random() < 0.5) else rng.choice(sizes or [3])
    bound = int(base) + narrower * rng.choice((-1, 0, 1, 2))
    place.schema[keyword] = max(bound, 0) if keyword not in ("maximum", "minimum") else bound
    return f"{keyword} {before} -> {place.schema[keyword]}"


def _size(value: Any) -> float:
    return value if isinstance(value, int | float) else len(value)


def change_text(place: Place, rng: random.Random) -> str | None:
    """Change the pattern or the format of a text."""
    if place.type != "string":
        return None
    keyword, text = rng.choice((("pattern", "^[a-m0-9.%-]*$"), ("pattern", "^.{2,}$"), ("format", "date"), ("format", "ipv4")))
    before = place.schema.get(keyword)
    if before is not None and rng.random() < 0.5:
        del place.schema[keyword]
        return f"{keyword} removed"
    place.schema[keyword] = text
    return f"{keyword} {before} -> {text}"


def change_multiple(place: Place, rng: random.Random) -> str | None:
    """Require a multiple."""
    if place.type != "integer":
        return None
    place.schema["multipleOf"] = rng.choice((2, 3))
    return "multipleOf set"


def change_enum(place: Place, rng: random.Random) -> str | None:
    """Add or remove values of an enumeration, or begin or end one."""
    values = place.schema.get("enum")
    if not values:
        known: set[Any] = {value for value in place.values if type(value) is {"string": str, "integer": int}.get(place.type)}
        if not known:
            return None
        place.schema["enum"] = sorted(known)[:2]
        return f"enum {place.schema['enum']} begun"
    choice = rng.random()
    if len(values) > 1 and choice < 0.6:
        return f"enum value {values.pop(rng.randrange(len(values)))} removed"
    if choice < 0.8 and place.type == "string":
        values.append("a-new-value")
        return "enum value added"
    del place.schema["enum"]
    return "enum removed"


def change_required(place: Place, rng: random.Random) -> str | None:
    """Require a field, or require it no longer."""
    required = list(place.schema.get("required") or ())
    optional = [name for name in place.schema.get("properties") or () if name not in required]
    if required and (not optional or rng.random() < 0.3):
        name = required.pop(rng.randrange(len(required)))
        place.schema["required"] = required
        if not required:
            del place.schema["required"]
        return f"{name} no longer required"
    if not optional:
        return None
    name = rng.choice(optional)
    place.schema["required"] = [*required, name]
    return f"{name} required"


def remove_field(place: Place, rng: random.Random) -> str | None:
    """Remove a field."""
    properties = place.schema.get("properties") or {}
    if not properties:
        return None
    name = rng.choice(place.used(properties))
    _drop(place.schema, name)
    return f"field {name} removed"


def rename_field(place: Place, rng: random.Random) -> str | None:
    """Give a field another name."""
    properties = place.schema.get("properties") or {}
    if not properties:
        return None
    name = rng.choice(place.used(properties))
    child = properties[name]
    _drop(place.schema, name)
    place.schema["properties"] = {**place.schema["properties"], f"{name}Renamed": child}
    return f"field {name} renamed"


def _drop(schema: Json, name: str) -> None:
    schema["properties"] = {key: child for key, child in schema["properties"].items() if key != name}
    required = [each for each in schema.get("required") or () if each != name]
    schema.pop("required", None)
    if required:
        schema["required"] = required


def add_field(place: Place, rng: random.Random) -> str | None:
    """Add a field, with or without a default, some required."""
    if place.type != "object" or "additionalProperties" in place.schema:
        return None
    name = f"added{rng.randrange(100)}"
    child: Json = {"type": "string"} | ({"default": "x"} if rng.random() < 0.6 else {})
    place.schema["properties"] = {**(place.schema.get("properties") or {}), name: child}
    if rng.random() < 0.4:
        place.schema["required"] = [*(place.schema.get("required") or ()), name]
        return f"required field {name} added: {child}"
    return f"field {name} added: {child}"


def change_default(place: Place, rng: random.Random) -> str | None:
    """Add, change or remove a default; not at the root, where no server accepts one."""
    if place.path == "root":
        return None
    before = place.schema.get("default")
    if before is not None and rng.random() < 0.4:
        del place.schema["default"]
        return "default removed"
    without = {key: value for key, value in place.schema.items() if key != "default"}
    place.schema["default"] = generate(without, rng, 6)
    return f"default {before} -> {place.schema['default']}"


def change_type(place: Place, rng: random.Random) -> str | None:
    """Change the type of a value."""
    before = place.type
    if before == "object" and "additionalProperties" in place.schema:
        place.schema.pop("additionalProperties")
        place.schema["properties"] = {"key0": {"type": "string"}}
        return "map -> object"
    if before == "array":
        items = place.schema["items"]
        place.schema.clear()
        place.schema.update(items)
        return "list -> item"
    if before not in _OTHER_TYPES:
        return None
    place.schema.clear()
    place.schema["type"] = rng.choice(_OTHER_TYPES[before])
    return f"type {before} -> {place.schema['type']}"


def change_list(place: Place, rng: random.Random) -> str | None:
    """Change the type of a list, or the keys of its items."""
    items = place.schema.get("items")
    if place.type != "array" or not isinstance(items, dict):
        return None
    before = place.schema.get(_LIST_TYPE), place.schema.pop(_LIST_KEYS, None)
    scalars = [name for name, child in (items.get("properties") or {}).items() if child.get("type") in ("string", "integer")]
    kinds = ["atomic", "set"]
    if items.get("type") == "object":
        kinds = ["atomic"] + ["map"] * 3 * bool(scalars)
        if rng.random() < 0.3:
            items["x-kubernetes-map-type"] = "atomic"
            kinds = ["set"]
    place.schema[_LIST_TYPE] = rng.choice(kinds)
    if place.schema[_LIST_TYPE] == "map":
        key = rng.choice(scalars)
        place.schema[_LIST_KEYS] = [key]
        if "default" not in items["properties"][key]:
            items["required"] = [*(each for each in items.get("required") or () if each != key), key]
    return f"list type {before} -> {place.schema[_LIST_TYPE]} {place.schema.get(_LIST_KEYS, '')}"


def change_map(place: Place, _rng: random.Random) -> str | None:
    """Make a map or an object atomic, or granular; not the root, since every apply of an object then fails."""
    if place.type != "object" or place.path == "root":
        return None
    before = place.schema.get("x-kubernetes-map-type", "granular")
    place.schema["x-kubernetes-map-type"] = "granular" if before == "atomic" else "atomic"
    return f"map type changed from {before}"


def change_null(place: Place, _rng: random.Random) -> str | None:
    """Allow null, or forbid it."""
    if place.schema.pop("nullable", False):
        return "no longer nullable"
    place.schema["nullable"] = True
    return "nullable"


def change_rules(place: Place, rng: random.Random) -> str | None:
    """Add a rule, remove one or make one stricter."""
    rules = copy.deepcopy(place.schema.get(RULES) or [])
    if place.type not in _RULES_BY_TYPE or PRESERVE in place.schema:
        return None
    choice = rng.random()
    if rules and choice < 0.3:
        gone = rules.pop(rng.randrange(len(rules)))
        place.schema[RULES] = rules
        return f"rule removed: {gone['rule']}"
    if rules and choice < 0.6:
        chosen = rng.choice(rules)
        chosen["rule"] = f"({chosen['rule']}) && {rng.choice(_rules(place))}"
        place.schema[RULES] = rules
        return f"rule stricter: {chosen['rule']}"
    rule: Json = {"rule": rng.choice(_NEW_RULES + _rules(place) * 2)}
    if "oldSelf" in rule["rule"] and rng.random() < 0.2:
        rule = {"rule": f"!oldSelf.hasValue() || self == oldSelf.value() || {rng.choice(('true', 'false'))}", "optionalOldSelf": True}
    place.schema[RULES] = [*rules, rule]
    return f"rule added: {rule['rule']}"


def _rules(place: Place) -> tuple[str, ...]:
    """Return rules that fit the type, for objects about the presence of a field."""
    names = [name for name in place.used(place.schema.get("properties") or {}) if name.isidentifier()]
    if place.type != "object" or not names:
        return _RULES_BY_TYPE[place.type]
    return tuple(rule for name in names for rule in (f"has(self.{name})", f"!has(self.{name})"))


def change_unknown(place: Place, _rng: random.Random) -> str | None:
    """Preserve unknown fields, or no longer."""
    if place.type not in ("object", ""):
        return None
    if place.schema.get(PRESERVE) and place.type == "object":
        del place.schema[PRESERVE]
        return "unknown fields no longer preserved"
    if place.type == "object":
        place.schema[PRESERVE] = True
        return "unknown fields preserved"
    return None


MUTATIONS: Final[tuple[Mutation, ...]] = (
    change_bound,
    change_text,
    change_multiple,
    change_enum,
    change_required,
    remove_field,
    rename_field,
    add_field,
    change_default,
    change_type,
    change_list,
    change_map,
    change_null,
    change_rules,
    change_unknown,
    *PLACE_MUTATIONS,
)


def mutate_place(chosen: Place, rng: random.Random) -> str | None:
    """Change a node by one of the mutations that it allows, and say how; None if it allows none."""
    mutations = rng.sample(MUTATIONS, len(MUTATIONS))
    if rng.random() < _OF_KIND:
        mutations.sort(key=lambda mutation: mutation not in PLACE_MUTATIONS)
    for mutation in mutations:
        kept = copy.deepcopy(chosen.schema)
        done = mutation(chosen, rng)
        if done is not None and chosen.schema != kept:
            return f"{chosen.path}: {done}"
        chosen.schema.clear()
        chosen.schema.update(kept)
    return None
