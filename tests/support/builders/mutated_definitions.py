"""Changes definitions at random, and tells which rule of a comparison each change is."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

Schema = dict[str, Any]
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_RULES: Final = "x-kubernetes-validations"
_KNOWN: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True)
class Mutation:
    """A change of a definition, and what a comparison reports of it."""

    rule: str
    version: str
    path: str


@dataclass(frozen=True)
class _Node:
    version: str
    path: str
    schema: Schema
    is_required: bool = False
    is_part: bool = False
    """Whether a list or map around it is atomic."""


Change = Callable[[Schema, random.Random], tuple[str, str] | None]
"""Changes a schema in place; returns the rule and the name of a property or an empty string, None if it cannot be changed this way."""


def mutated(crd: dict[str, Any], rng: random.Random, count: int = 1) -> tuple[dict[str, Any], list[Mutation]]:
    """Return a copy of a CRD with up to so many changes of its schemas, none below another, and the changes."""
    made = copy.deepcopy(crd)
    nodes = list(_nodes(made))
    rng.shuffle(nodes)
    done: list[Mutation] = []
    for node in nodes:
        if len(done) == count:
            break
        if any(node.version == other.version and _overlap(node.path, other.path) for other in done):
            continue
        for change in rng.sample(CHANGES, len(CHANGES)):
            found = change(node.schema, rng)
            if found is not None:
                rule, name = found
                if rule == "defaultAdded" and node.is_required:
                    rule = "requiredDefaultAdded"
                if rule == "listTypeChanged" and node.is_part and node.schema[_LIST_TYPE] == "atomic":
                    rule = "mergedPartChanged"
                done.append(Mutation(rule, node.version, f"{node.path}.{name}" if name else node.path))
                break
    return made, done


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _nodes(crd: dict[str, Any]) -> Iterator[_Node]:
    for version in crd["spec"]["versions"]:
        root = version["schema"]["openAPIV3Schema"]
        for name, schema in (root.get("properties") or {}).items():
            if name not in _KNOWN:
                yield from _below(_Node(version["name"], name, schema, name in root.get("required", ())))


def _below(node: _Node) -> Iterator[_Node]:
    yield node
    schema, path = node.schema, node.path
    is_part = node.is_part or schema.get("x-kubernetes-map-type") == "atomic"
    for name, child in (schema.get("properties") or {}).items():
        if name not in _KNOWN:
            yield from _below(_Node(node.version, f"{path}.{name}", child, name in schema.get("required", ()), is_part))
    for keyword, step in (("items", "[]"), ("additionalProperties", "[*]")):
        if isinstance(schema.get(keyword), dict):
            is_one = keyword == "items" and schema.get(_LIST_TYPE, "atomic") == "atomic"
            yield from _below(_Node(node.version, f"{path}{step}", schema[keyword], is_part=is_part or is_one))


def _drops_unknown(schema: Schema) -> bool:
    return schema.get("type") == "object" and not schema.get(_PRESERVE) and "additionalProperties" not in schema


def _remove_field(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    names = [name for name in schema.get("properties") or () if name not in _KNOWN and name not in schema.get("required", ())]
    if not names or not _drops_unknown(schema):
        return None
    name = rng.choice(names)
    del schema["properties"][name]
    return "fieldRemoved", name


def _add_field(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    if not _drops_unknown(schema):
        return None
    name = f"added{rng.randrange(1000)}"
    schema.setdefault("properties", {})[name] = {"type": "string"}
    return "fieldAdded", name


def _require(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    properties = schema.get("properties") or {}
    names = [name for name in properties if name not in _KNOWN and name not in schema.get("required", ())]
    if not names:
        return None
    name = rng.choice(names)
    schema.setdefault("required", []).append(name)
    return "requiredAdded" if properties[name].get("default") is None else "requiredWithDefaultAdded", name


def _allow_absence(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    if not schema.get("required"):
        return None
    return "requiredRemoved", schema["required"].pop(rng.randrange(len(schema["required"])))


def _change_type(schema: Schema, _rng: random.Random) -> tuple[str, str] | None:
    kind = schema.get("type")
    if kind not in ("string", "boolean", "integer") or "format" in schema:
        return None
    if kind == "integer":
        schema["type"] = "number"
        return "typeWidened", ""
    schema["type"] = "integer"
    return "typeChanged", ""


def _change_bound(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    keyword = {"string": "maxLength", "array": "maxItems", "integer": "maximum"}.get(schema.get("type", ""))
    if keyword is None:
        return None
    before = schema.get(keyword)
    if before is not None and rng.random() < 0.5:
        schema[keyword] = before + 1
        return f"{keyword}Widened", ""
    schema[keyword] = 7 if before is None else before - 1
    return f"{keyword}Narrowed", ""


def _change_null(schema: Schema, _rng: random.Random) -> tuple[str, str]:
    if schema.get("nullable"):
        del schema["nullable"]
        return "nullableRemoved", ""
    schema["nullable"] = True
    return "nullableAdded", ""


def _change_default(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    if schema.get("default") is not None:
        if rng.random() < 0.5:
            del schema["default"]
            return "defaultRemoved", ""
        schema["default"] = f"other than {schema['default']}"
        return "defaultChanged", ""
    if schema.get("type") != "string":
        return None
    schema["default"] = "x"
    return "defaultAdded", ""


def _change_enum(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    values = schema.get("enum")
    if not values:
        if schema.get("type") != "string":
            return None
        schema["enum"] = ["a", "b"]
        return "enumAdded", ""
    if len(values) > 1 and rng.random() < 0.5:
        values.pop(rng.randrange(len(values)))
        return "enumValueRemoved", ""
    values.append("a new value")
    return "enumValueAdded", ""


def _change_pattern(schema: Schema, _rng: random.Random) -> tuple[str, str] | None:
    if schema.get("type") != "string":
        return None
    before = schema.get("pattern")
    # unlike any other one: neither accepts what the other does
    schema["pattern"] = r"^[a-q]+\x00?$"
    return "patternChanged" if before else "patternAdded", ""


def _change_rules(schema: Schema, rng: random.Random) -> tuple[str, str] | None:
    if schema.get(_RULES):
        schema[_RULES].pop(rng.randrange(len(schema[_RULES])))
        return "ruleRemoved", ""
    if schema.get("type") not in ("object", "string"):
        return None
    schema[_RULES] = [{"rule": "self == oldSelf"}]
    return "ruleAdded", ""


def _change_list_type(schema: Schema, _rng: random.Random) -> tuple[str, str] | None:
    if schema.get("type") != "array" or (schema.get("items") or {}).get("type") != "string":
        return None
    schema[_LIST_TYPE] = "atomic" if schema.get(_LIST_TYPE) == "set" else "set"
    return "listTypeChanged", ""


def _keep_unknown(schema: Schema, _rng: random.Random) -> tuple[str, str] | None:
    if not _drops_unknown(schema):
        return None
    schema[_PRESERVE] = True
    return "unknownFieldsPreserved", ""


def _drop_unknown(schema: Schema, _rng: random.Random) -> tuple[str, str] | None:
    if schema.get("type") != "object" or not schema.get(_PRESERVE) or "additionalProperties" in schema:
        return None
    del schema[_PRESERVE]
    return "unknownFieldsPruned", ""


def _describe(schema: Schema, rng: random.Random) -> tuple[str, str]:
    schema["description"] = f"another description {rng.randrange(1000)}"
    return "descriptionChanged", ""


def _add_clause(schema: Schema, _rng: random.Random) -> tuple[str, str] | None:
    if schema.get("type") != "string" or schema.get("oneOf"):
        return None
    schema["oneOf"] = [{"maxLength": 3}, {"minLength": 4}]
    return "oneOfNarrowed", ""


CHANGES: Final[tuple[Change, ...]] = (
    _remove_field,
    _add_field,
    _require,
    _allow_absence,
    _change_type,
    _change_bound,
    _change_null,
    _change_default,
    _change_enum,
    _change_pattern,
    _change_rules,
    _change_list_type,
    _keep_unknown,
    _drop_unknown,
    _describe,
    _add_clause,
)
