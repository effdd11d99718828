"""Generates random structural schemas with every keyword that a CRD allows."""

import random
from typing import Any

from hack.lib.differential.generated_objects import FORMATS, generate

_PATTERNS = ("^[a-z]+$", "a|b", "^x.*", "[0-9]{2,3}", "^$", r"^\d+%$")
_VALUES = (None, 1, 2.0, 2.5, "a", "x", True, ["a"], {"a": 1})


_WHOLE = ("maximum", "minimum", "multipleOf")
_EXACT = 2**53


def plain_schema(rng: random.Random) -> dict[str, Any]:
    """Return a random schema without the keywords that the reference and JSON Schema interpret differently."""
    schema = random_schema(rng)
    _make_plain(schema)
    return schema


def _make_plain(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _make_plain(item)
    if not isinstance(node, dict):
        return
    kind = node.get("type")
    for key in _WHOLE:
        if key in node and not (float(node[key]).is_integer() and node[key] <= _EXACT and (key != "multipleOf" or kind == "integer")):
            del node[key]
    if "enum" in node and kind not in ("string", "boolean"):
        del node["enum"]
    if "format" in node and kind != "string":
        del node["format"]
    for key in ("uniqueItems", "default"):
        node.pop(key, None)
    for key, child in node.items():
        if key in ("allOf", "anyOf", "oneOf", "not", "items", "additionalProperties"):
            _make_plain(child)
        elif key == "properties":
            for below in child.values():
                _make_plain(below)


def random_schema(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return a random structural schema of at most the given depth."""
    kinds = ["string", "integer", "number", "boolean", "int-or-string", "any"]
    if depth < 4:
        kinds += ["object", "object", "map", "array", "preserve", "embedded"]
    kind = rng.choice(kinds) if depth else "object"
    schema = _of_kind(kind, rng, depth)
    if rng.random() < 0.15 and depth:
        schema["nullable"] = True
    if rng.random() < 0.1 and kind not in ("object", "map", "array", "preserve"):
        schema["enum"] = rng.sample(_VALUES, 3)
    if rng.random() < 0.25 and kind != "int-or-string":
        _add_combination(schema, kind, rng)
    if rng.random() < 0.2 and depth:
        schema["default"] = generate(schema, rng, depth + 2)
    return schema


def _of_kind(kind: str, rng: random.Random, depth: int) -> dict[str, Any]:
    if kind == "int-or-string":
        schema: dict[str, Any] = {"x-kubernetes-int-or-string": True}
        if rng.random() < 0.5:
            schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        return schema | (_values("string", rng) if rng.random() < 0.3 else {})
    if kind == "any":
        return {"x-kubernetes-preserve-unknown-fields": True} | _values(rng.choice(("string", "integer")), rng)
    if kind == "map":
        return {"type": "object", "additionalProperties": random_schema(rng, depth + 1)} | _values("object", rng)
    if kind == "array":
        return _list(rng, depth) | _values("array", rng)
    if kind == "embedded":
        return _embedded(rng, depth)
    if kind in ("object", "preserve"):
        names = rng.sample("abcdef", rng.randint(1, 4))
        schema = {"type": "object", "properties": {name: random_schema(rng, depth + 1) for name in names}}
        if kind == "preserve":
            schema["x-kubernetes-preserve-unknown-fields"] = True
        return schema | _values("object", rng, names)
    return {"type": kind} | _values(kind, rng)


def _list(rng: random.Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": random_schema(rng, depth + 1)}
    properties = schema["items"].get("properties")
    if rng.random() < 0.3:
        schema["x-kubernetes-list-type"] = "set"
    elif properties and rng.random() < 0.6:
        keys = rng.sample(sorted(properties), rng.randint(1, min(2, len(properties))))
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    return schema


def _embedded(rng: random.Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-embedded-resource": True}
    if rng.random() < 0.5:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if rng.random() < 0.5 or len(schema) == 2:
        schema["properties"] = {"a": random_schema(rng, depth + 1)}
        if rng.random() < 0.5:
            schema["properties"] |= {"kind": {"type": "string", "pattern": "^E"}, "metadata": {"type": "object"}}
    return schema


def _values(kind: str, rng: random.Random, names: list[str] | None = None) -> dict[str, Any]:
    """Return a few value validations for the type."""
    choices: dict[str, Any] = {
        "string": {
            "minLength": rng.randint(0, 3),
            "maxLength": rng.randint(1, 6),
            "pattern": rng.choice(_PATTERNS),
            "format": rng.choice([*FORMATS, "int32", "unheard-of"]),
        },
        "integer": {
            "minimum": rng.choice((0, -3, 2, 1.5)),
            "maximum": rng.choice((5, 10, 4.5, 1e30)),
            "multipleOf": rng.choice((2, 3, 0.5, 1.5)),
            "format": rng.choice(("int32", "int64", "double", "date")),
            "exclusiveMinimum": True,
            "exclusiveMaximum": True,
        },
        "object": {
            "minProperties": rng.randint(0, 2),
            "maxProperties": rng.randint(1, 4),
            "required": rng.sample([*(names or ()), "z"], 1),
        },
        "array": {
            "minItems": rng.randint(0, 2),
            "maxItems": rng.randint(1, 3),
            "uniqueItems": True,
        },
    }
    choices["number"] = choices["integer"] | {"format": rng.choice(("float", "double", "int32"))}
    keywords = choices.get(kind, {})
    return {key: value for key, value in keywords.items() if rng.random() < 0.25}


def _add_combination(schema: dict[str, Any], kind: str, rng: random.Random) -> None:
    names = list(schema.get("properties") or ())
    junctor = rng.choice(("allOf", "anyOf", "oneOf", "not"))
    clauses = [_clause(kind, names, rng) for _ in range(rng.randint(1, 3))]
    schema[junctor] = clauses[0] if junctor == "not" else clauses


def _clause(kind: str, names: list[str], rng: random.Random) -> dict[str, Any]:
    clause = _values({"map": "object", "preserve": "object", "any": "string"}.get(kind, kind), rng, names)
    if names and rng.random() < 0.4:
        clause["properties"] = {rng.choice(names): _values(rng.choice(("string", "integer", "array")), rng)}
    if kind not in ("object", "map", "array", "preserve") and rng.random() < 0.3:
        clause["enum"] = rng.sample(_VALUES, 2)
    return clause
