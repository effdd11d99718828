"""Generates definitions with schemas of every kind, and single changes that make them invalid, from a given Random."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from hack.lib.differential.generated_objects import FORMATS, generate

Schema = dict[str, Any]

_DEEPEST: Final = 3
_MOST: Final = 4
_IN_A_SCHEMA: Final = 0.75
_GOES: Final = 0.2
_SENSELESS: Final = 0.1
_WRONG: Final[tuple[Any, ...]] = (None, True, False, -1, 0, 1.5, 2**31, "", "x", "A b", [], ["x"], [{}], {}, {"x": 1}, {"x": {}}, [None])
_CLAUSES: Final = ("allOf", "anyOf", "oneOf")
_UNREADABLE: Final = frozenset(
    {
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
        "$schema",
        "items",
        "default",
        "x-kubernetes-preserve-unknown-fields",
    }
)
"""Keywords that crash the reference if the version has selectable fields."""
_SCHEMAS_IN: Final = ("items", "additionalProperties", "not")
KEYWORDS: Final[dict[str, tuple[Any, ...]]] = {
    "type": ("object", "array", "string", "integer", "number", "boolean", "null", ""),
    "format": ("int32", "date-time", "byte", "nonsense", "ipv4"),
    "title": ("t",),
    "description": ("d",),
    "default": (None, "x", 1, [], {}, {"a": 1}, [{"k": "v"}], True),
    "example": ({"a": 1},),
    "enum": ([], ["a"], [1, "a"], [None], [{}]),
    "pattern": ("^a+$", "(", "(?=a)", "a{1001}"),
    "minimum": (0, 9.5),
    "maximum": (0, 1e30),
    "exclusiveMinimum": (True, False),
    "multipleOf": (0, 2, 0.1),
    "minLength": (-1, 3),
    "maxLength": (0, 2**40),
    "minItems": (-1, 1),
    "maxItems": (0, 5),
    "uniqueItems": (True, False),
    "minProperties": (1,),
    "maxProperties": (0, 2),
    "required": ([], ["a"], ["none", "none"]),
    "nullable": (True, False),
    "properties": ({}, {"a": {}}, {"a": {"type": "string"}}, {"metadata": {"type": "object", "properties": {"x": {"type": "string"}}}}),
    "additionalProperties": (True, False, {}, {"type": "string"}),
    "items": ({}, {"type": "string"}, [{"type": "string"}]),
    "allOf": ([], [{}], [{"required": ["a"]}], [{"type": "object"}]),
    "anyOf": ([{"type": "integer"}, {"type": "string"}], [{"minLength": 1, "nullable": True}]),
    "oneOf": ([{"properties": {"a": {"minLength": 1}}}], [{"items": {"pattern": "^a"}}], [{"default": 1}]),
    "not": ({}, {"required": ["a"]}, {"properties": {"none": {"enum": ["a"]}}}, {"additionalProperties": {"minLength": 1}}),
    "definitions": ({}, {"a": {"type": "string"}}),
    "dependencies": ({}, {"a": ["b"]}, {"a": {"type": "string"}}),
    "patternProperties": ({"a": {"type": "string"}},),
    "additionalItems": (True, {"type": "string"}),
    "id": ("x",),
    "$ref": ("#/x",),
    "$schema": ("http://json-schema.org/schema#",),
    "externalDocs": ({"url": "u"},),
    "x-kubernetes-preserve-unknown-fields": (True, False),
    "x-kubernetes-embedded-resource": (True, False),
    "x-kubernetes-int-or-string": (True, False),
    "x-kubernetes-list-type": ("atomic", "set", "map", "x"),
    "x-kubernetes-list-map-keys": ([], ["k"], ["k", "k"], ["none"]),
    "x-kubernetes-map-type": ("atomic", "granular", "x"),
    "unknown": (1,),
}
"""Every keyword of a schema with valid and invalid values."""


def definition(group: str, rng: random.Random) -> dict[str, Any]:
    """Return a definition of `things.<group>` that is most likely valid."""
    names: dict[str, Any] = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    if rng.random() < 0.3:
        names |= {"shortNames": ["th"], "categories": ["all"]}
    versions = [_version(name, rng) for name in rng.sample(("v1", "v1beta1", "v2", "v1alpha1"), rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.2:
        versions = [versions[0] | {"name": version["name"]} for version in versions]
    versions[rng.randrange(len(versions))]["storage"] = True
    spec: dict[str, Any] = {"group": group, "scope": rng.choice(("Cluster", "Namespaced")), "names": names, "versions": versions}
    if rng.random() < 0.2:
        spec["conversion"] = {"strategy": "None"}
    if rng.random() < 0.1:
        spec["preserveUnknownFields"] = False
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return kind | {"metadata": {"name": f"things.{group}"}, "spec": spec}


def broken(crd: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a copy of a generated definition with one likely invalid change, mostly in a schema."""
    made = copy.deepcopy(crd)
    if rng.random() < _IN_A_SCHEMA:
        _break_schema(made["spec"]["versions"], rng)
        return made
    holder = rng.choice(list(_holders(made)))
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if rng.random() < _GOES:
        del holder[key]
    else:
        holder[key] = rng.choice(_WRONG)
    if key == "schema":
        holder.pop("selectableFields", None)
    return made


def _break_schema(versions: list[dict[str, Any]], rng: random.Random) -> None:
    version = rng.choice(versions)
    node = rng.choice(list(_nodes(version["schema"]["openAPIV3Schema"])))
    if node and rng.random() < _GOES:
        del node[rng.choice(sorted(node))]
        return
    keyword = rng.choice(sorted(KEYWORDS))
    node[keyword] = rng.choice(_WRONG if rng.random() < _SENSELESS else KEYWORDS[keyword])
    if keyword in _UNREADABLE:
        version.pop("selectableFields", None)


def _version(name: str, rng: random.Random) -> dict[str, Any]:
    root: Schema = {"type": "object", "properties": {"spec": _object(rng, 1), "status": _object(rng, 1)}}
    if rng.random() < 0.3:
        root["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 63}}}
    version: dict[str, Any] = {"name": name, "served": rng.random() < 0.8, "storage": False, "schema": {"openAPIV3Schema": root}}
    paths = list(_paths(root, ""))
    if rng.random() < 0.5:
        scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        version["subresources"] = {"status": {}} | ({"scale": scale} if rng.random() < 0.5 else {})
    if rng.random() < 0.5:
        kinds = ("string", "integer", "number", "boolean", "date")
        version["additionalPrinterColumns"] = [
            {"name": f"C{index}", "type": rng.choice(kinds), "jsonPath": path} for index, path in enumerate(paths[:3])
        ]
    if rng.random() < 0.3:
        version["selectableFields"] = [{"jsonPath": path} for path in rng.sample(paths, min(len(paths), 2))]
    if rng.random() < 0.2:
        version |= {"deprecated": True, "deprecationWarning": "old"}
    return version


def _schema(rng: random.Random, depth: int) -> Schema:
    makers: tuple[Callable[[random.Random, int], Schema], ...] = (_scalar, _scalar, _scalar, _special)
    made = rng.choice((*makers, _object, _object, _list, _map) if depth < _DEEPEST else makers)(rng, depth)
    if rng.random() < 0.1:
        made["nullable"] = True
    if rng.random() < 0.1:
        made["description"] = "what it is"
    if rng.random() < 0.2:
        made["default"] = generate(made, rng, depth=5)
    return made


def _scalar(rng: random.Random, _depth: int) -> Schema:
    kind = rng.choice(("string", "integer", "number", "boolean"))
    if kind == "string":
        some: tuple[Schema, ...] = (
            {},
            {"minLength": 1},
            {"pattern": "^[a-z]+$"},
            {"enum": ["a", "b"]},
            {"format": rng.choice(sorted(FORMATS))},
        )
    elif kind == "boolean":
        some = ({},)
    else:
        some = ({}, {"minimum": 0}, {"maximum": 9}, {"multipleOf": 1}, {"format": "int32" if kind == "integer" else "double"})
    return {"type": kind} | rng.choice(some)


def _special(rng: random.Random, _depth: int) -> Schema:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    some: tuple[Schema, ...] = (
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"name": {"type": "string"}}},
        embedded,
    )
    return dict(rng.choice(some))


def _object(rng: random.Random, depth: int) -> Schema:
    properties = {name: _schema(rng, depth + 1) for name in rng.sample("abcdefg", rng.randint(1, _MOST))}
    made: Schema = {"type": "object", "properties": properties}
    name = rng.choice(sorted(properties))
    if rng.random() < 0.3:
        made["required"] = [name]
    if rng.random() < 0.2:
        made[rng.choice(_CLAUSES)] = [{"required": [name]}]
    if rng.random() < 0.1:
        made["not"] = {"properties": {name: {"enum": ["never"]}}}
    return made


def _list(rng: random.Random, depth: int) -> Schema:
    if rng.random() < 0.3:
        items = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": _schema(rng, depth + 1)}}
        return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    if rng.random() < 0.3:
        return {"type": "array", "items": _scalar(rng, depth), "x-kubernetes-list-type": "set"}
    return {"type": "array", "items": _schema(rng, depth + 1)} | rng.choice(({}, {"minItems": 1}, {"maxItems": 3}))


def _map(rng: random.Random, depth: int) -> Schema:
    return {"type": "object", "additionalProperties": _schema(rng, depth + 1)}


def _paths(node: Schema, path: str) -> Iterator[str]:
    """Return the paths of scalar fields outside lists and maps."""
    for name, child in node.get("properties", {}).items():
        if name != "metadata":
            if child.get("type") in ("string", "integer", "boolean"):
                yield f"{path}.{name}"
            yield from _paths(child, f"{path}.{name}")


def _nodes(node: Schema) -> Iterator[Schema]:
    yield node
    below = [*node.get("properties", {}).values(), *(node[key] for key in _SCHEMAS_IN if isinstance(node.get(key), dict))]
    for child in [*below, *(clause for key in _CLAUSES for clause in node.get(key, ()))]:
        yield from _nodes(child)


def _holders(value: Any) -> Iterator[Any]:
    """Return every non-empty object and list of a definition: those within schemas, and the others."""
    if isinstance(value, (dict, list)) and value:
        yield value
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "schema":
                yield from _holders(member)
