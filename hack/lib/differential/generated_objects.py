"""Generates objects that a schema most likely accepts, and single changes that likely invalidate them, from a given Random."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from hack.lib.differential.regex_samples import sample

FORMATS = {
    "date": ("2024-02-29", "2023-02-29"),
    "date-time": ("2024-02-29T12:30:00Z", "2024-02-29 12:30:00"),
    "datetime": ("2024-02-29t12:30:00.5+01:00", "2024-02-29"),
    "duration": ("1h30m", "soon"),
    "byte": ("YWJj", "YWJ"),
    "ipv4": ("10.1.2.3", "10.1.2"),
    "ipv6": ("fe80::1", "fe80::1::2"),
    "cidr": ("10.0.0.0/8", "10.0.0.0"),
    "mac": ("01:23:45:67:89:ab", "01:23"),
    "uri": ("https://example.com/a?b", "example"),
    "email": ("a@example.com", "a"),
    "hostname": ("a.example.com", "-a-"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123"),
    "hexcolor": ("#ff00aa", "#ff0"[:3]),
    "password": ("secret", "secret"),
    "k8s-short-name": ("abc", "Abc"),
    "k8s-long-name": ("abc.def", "abc..def"),
}
"""A valid and an invalid text for each format."""

_PRESENT = 0.5
_LARGEST = 2**62
MAX_DEPTH = 7
_MAX_LIST = 3
_METADATA = (
    {"name": "x", "unknown": 1},
    {"labels": {"a": 1}},
    {"labels": {"a/b/c": "-"}, "name": "a/b"},
    {"name": 1, "generation": -1},
    {"creationTimestamp": None, "finalizers": ["x"]},
    {"creationTimestamp": "yesterday"},
    {"namespace": "A", "ownerReferences": [{"kind": "X", "bad": 1}]},
    "text",
    None,
)
_WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    1.5,
    1e20,
    1e39,
    1e-7,
    2**31,
    "",
    "x",
    "A-b.c d",
    [],
    ["a", "a"],
    [1, 1.0],
    {},
    {"a": 1},
    {"unknown": None},
)


def generate(schema: Mapping[str, Any], rng: random.Random, depth: int = 0) -> Any:
    """Return a value that the schema most likely accepts; CEL rules are ignored."""
    schema = _with_choices(schema, rng)
    if schema.get("enum"):
        return rng.choice(schema["enum"])
    if schema.get("nullable") and rng.random() < 0.1:
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice((rng.randint(0, 99), "50%")) if "pattern" not in schema else _string(schema, rng)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, rng, depth)
    if kind == "array":
        return _array(schema, rng, depth)
    if kind == "string":
        return _string(schema, rng)
    if kind == "integer":
        return max(-_LARGEST, min(_LARGEST, int(_number(schema, rng))))
    if kind == "number":
        return _number(schema, rng)
    if kind == "boolean":
        return rng.random() < 0.5
    return rng.choice((1, "text", True, {"any": ["thing"]}, []))


def generate_resource(schema: Mapping[str, Any], rng: random.Random, *, api_version: str, kind: str, depth: int = 0) -> dict[str, Any]:
    """Return a complete object of the kind at `depth`, without optional fields from MAX_DEPTH on."""
    obj = generate({**schema, "type": "object"}, rng, depth)
    return {**obj, "apiVersion": api_version, "kind": kind, "metadata": {"name": f"generated-{rng.randint(0, 10**9)}"}}


def _with_choices(schema: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return the schema with one alternative of each anyOf and oneOf required, and without the fields of the others."""
    merged = {**schema, "_drop": set()}
    clauses = [*(schema.get("allOf") or ())]
    for junctor in ("anyOf", "oneOf"):
        alternatives = schema.get(junctor) or ()
        if alternatives:
            chosen = rng.choice(alternatives)
            clauses.append(chosen)
            others = {name for other in alternatives for name in other.get("required") or ()}
            merged["_drop"] |= others - set(chosen.get("required") or ())
    for clause in clauses:
        nested = _with_choices(clause, rng) if any(key in clause for key in ("anyOf", "oneOf", "allOf")) else clause
        for key, value in nested.items():
            if key == "required":
                merged["required"] = [*(merged.get("required") or ()), *value]
            elif key == "properties":
                below = {**(merged.get("properties") or {})}
                for name, child in value.items():
                    below[name] = {**below.get(name, {}), **{k: v for k, v in child.items() if k != "not"}}
                merged["properties"] = below
            elif key == "_drop":
                merged["_drop"] |= value
            elif key not in ("anyOf", "oneOf", "allOf", "not", "type"):
                merged[key] = value
    merged["_drop"] |= set((schema.get("not") or {}).get("required") or ())
    return merged


def _object(schema: Mapping[str, Any], rng: random.Random, depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = [*(schema.get("required") or ())]
    obj: dict[str, Any] = {}
    dropped = schema.get("_drop") or set()
    for name, child in properties.items():
        optional = depth < MAX_DEPTH and rng.random() < (_PRESENT if len(properties) < 30 else 10 / len(properties))
        if name in required or (optional and name not in dropped):
            obj[name] = generate(child, rng, depth + 1)
    if schema.get("x-kubernetes-embedded-resource"):
        obj |= {"apiVersion": "v1", "kind": "Embedded", "metadata": {"name": "embedded", "labels": {"a": "b"}}}
    if schema.get("x-kubernetes-preserve-unknown-fields") and rng.random() < _PRESENT:
        obj["extra"] = {"deep": [1, {"er": None}]}
    additional = schema.get("additionalProperties")
    least = schema.get("minProperties") or 0
    if additional and not properties:
        for index in range(max(least, rng.randint(0, _MAX_LIST))):
            obj[f"key{index}"] = generate(additional if isinstance(additional, Mapping) else {}, rng, depth + 1)
    for name, child in properties.items():
        if len(obj) >= least:
            break
        if name not in dropped:
            obj.setdefault(name, generate(child, rng, depth + 1))
    for name in list(obj):
        if len(obj) > schema.get("maxProperties", len(obj)) and name not in required:
            del obj[name]
    return obj


def _array(schema: Mapping[str, Any], rng: random.Random, depth: int) -> list[Any]:
    least = schema.get("minItems") or 0
    most = min(schema.get("maxItems", least + _MAX_LIST), least + _MAX_LIST)
    count = least if depth >= MAX_DEPTH else rng.randint(least, max(least, most))
    items = [generate(schema.get("items") or {}, rng, depth + 1) for _ in range(count)]
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    unique: list[Any] = []
    seen: list[Any] = []
    for item in items:
        identity = [item.get(key) for key in keys] if keys and isinstance(item, dict) else item
        if identity not in seen:
            seen.append(identity)
            unique.append(item)
    return unique if schema.get("x-kubernetes-list-type") in ("set", "map") else items


def _string(schema: Mapping[str, Any], rng: random.Random) -> str:
    pattern, name = schema.get("pattern"), schema.get("format")
    if name in FORMATS:
        return FORMATS[name][0]
    text = sample(pattern, rng) if pattern else "".join(rng.choice("abcxyz019-") for _ in range(rng.randint(1, 8)))
    text = text or ""
    least, most = schema.get("minLength") or 0, schema.get("maxLength")
    if not pattern:
        text = text.ljust(least, "a")
        text = text[:most] if most is not None else text
    return text


def _number(schema: Mapping[str, Any], rng: random.Random) -> float:
    least = schema.get("minimum", max(-5, schema.get("maximum", 0) - 10))
    most = schema.get("maximum", least + 10)
    least = min(least, 2**53)
    value = rng.randint(int(least), int(min(max(least, most), 2**53)))
    if schema.get("exclusiveMinimum") and value <= least:
        value += 1
    factor = schema.get("multipleOf")
    if factor:
        value = int(value // factor * factor) if factor >= 1 else value
    return value + 0.5 if schema.get("type") == "number" and "maximum" not in schema and not factor else value


def mutate(value: Any, schema: Mapping[str, Any], rng: random.Random) -> Any:
    """Return a copy of the value with one change that likely invalidates it."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        return _mutate_object(value, schema, rng)
    if isinstance(value, list) and value and rng.random() < 0.7:
        index = rng.randrange(len(value))
        copy = list(value)
        if rng.random() < 0.2:
            return [*copy, copy[index]]
        copy[index] = mutate(copy[index], schema.get("items") or {}, rng)
        return copy
    if schema.get("format") in FORMATS and rng.random() < 0.5:
        return FORMATS[schema["format"]][1]
    if isinstance(value, str) and rng.random() < 0.4:
        return rng.choice(("", value * 20, value + " ", value.upper()))
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.4:
        return rng.choice((value + 1, -value - 1, value * 1000003 % _LARGEST, value + 0.5, float(value), 2**40))
    return rng.choice(_WRONG)


def _mutate_object(value: dict[str, Any], schema: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    copy = dict(value)
    if "metadata" in copy and rng.random() < 0.3:
        return copy | {"metadata": rng.choice(_METADATA)}
    name = rng.choice(list(copy))
    choice = rng.random()
    if choice < 0.1:
        del copy[name]
    elif choice < 0.2:
        copy[rng.choice([*properties, "unknown"])] = rng.choice(_WRONG)
    else:
        child = properties.get(name) or (additional if isinstance(additional, Mapping) else {})
        copy[name] = mutate(copy[name], child, rng)
    return copy
