"""Generates changes of definitions: random schemas, a few changes of them, and objects that the schema before the change accepts."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from apiext.base.meta.errors import StatusError
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, create_definition
from hack.lib.differential.generated_objects import generate
from tests.support.builders.crds import definition, version
from tests.support.builders.definition_pairs import STATUS, AppliedObject, DefinitionPair
from tests.support.builders.random_schemas import random_schema
from tests.support.judged_objects import stored_objects

Json = dict[str, Any]
_FIELDS: Final = 6
_OBJECTS: Final = 4
_ATTEMPTS: Final = 40
_RULES: Final = ("true", "self == oldSelf", "self == self && false", "type(self) == type(self)")


async def generated_pair(name: str, rng: random.Random) -> DefinitionPair:
    """Return a pair with objects."""
    while True:
        old = await _accepted(partial(_versions, rng))
        new = await _accepted(partial(_changed, old, rng)) if old is not None else None
        if old is None or new is None:
            continue
        if rng.random() < 0.3:
            old, new = new, old
        objects = await _objects(old, rng)
        if objects:
            return DefinitionPair(name, old, new, objects)


async def _accepted(make: Callable[[], tuple[Json, ...]]) -> tuple[Json, ...] | None:
    """Return the versions of a definition that a server accepts, None if there are none after some attempts."""
    for _ in range(_ATTEMPTS):
        versions = make()
        crd = DefinitionPair("", versions, versions, ()).crd(versions)
        try:
            await create_definition(definition(crd).object)
        except (DefinitionRefusedError, ValueError):
            continue
        return versions
    return None


def _versions(rng: random.Random) -> tuple[Json, ...]:
    spec = {"type": "object", "properties": {f"f{number}": random_schema(rng, 2) for number in range(_FIELDS)}}
    status = {"type": "object", "properties": {"s": random_schema(rng, 3)}}
    schema: Json = {"type": "object", "properties": {"spec": spec, "status": status}}
    more = STATUS if rng.random() < 0.5 else {}
    first = version("v1", storage=True, schema=schema, **more)
    if rng.random() < 0.5:
        return (first,)
    return first, version("v2", schema=_mutated(schema, rng), **more)


def _changed(old: tuple[Json, ...], rng: random.Random) -> tuple[Json, ...]:
    new = copy.deepcopy(list(old))
    for each in new:
        each["schema"]["openAPIV3Schema"] = _mutated(each["schema"]["openAPIV3Schema"], rng)
        if rng.random() < 0.1:
            each["subresources"] = {} if each.get("subresources") else STATUS["subresources"]
    if len(new) > 1 and rng.random() < 0.3:
        for each in new:
            each["storage"] = not each["storage"]
    if len(new) == 1 and rng.random() < 0.3:
        new.append(version("v2", schema=_mutated(new[0]["schema"]["openAPIV3Schema"], rng)))
    return tuple(new)


def _mutated(schema: Json, rng: random.Random) -> Json:
    changed = copy.deepcopy(schema)
    for _ in range(rng.randint(1, 4)):
        nodes = list(_nodes(changed["properties"]["spec"])) + list(_nodes(changed["properties"]["status"]))
        _mutate(rng.choice(nodes), rng)
    return changed


def _nodes(node: Json) -> Iterator[Json]:
    """Yield the structural nodes of a schema."""
    yield node
    for child in (node.get("properties") or {}).values():
        yield from _nodes(child)
    for name in ("items", "additionalProperties"):
        if isinstance(node.get(name), dict):
            yield from _nodes(node[name])


def _mutate(node: Json, rng: random.Random) -> None:
    kind = node.get("type")
    changes: list[Json] = [{"nullable": not node.get("nullable", False)}, {"x-kubernetes-validations": [{"rule": rng.choice(_RULES)}]}]
    properties = dict(node.get("properties") or {})
    if kind in ("integer", "number"):
        changes += [{"maximum": rng.randint(-5, 50)}, {"minimum": rng.randint(-5, 50)}, {"type": "string"}, {"default": 3}]
    elif kind == "string":
        changes += [{"maxLength": rng.randint(0, 6)}, {"enum": ["a", "b"]}, {"pattern": "^[a-m]*$"}, {"type": "integer"}, {"default": "a"}]
    elif kind == "boolean":
        changes += [{"default": True}, {"enum": [True]}, {"type": "string"}]
    elif kind == "array":
        changes += [{"maxItems": rng.randint(0, 3)}, {"minItems": 2}, {"x-kubernetes-list-type": rng.choice(("set", "atomic"))}]
    elif kind == "object":
        changes += [{"properties": properties | {"extra": {"type": "string", "default": "x"}}}, {"x-kubernetes-map-type": "atomic"}]
        changes += [{"x-kubernetes-preserve-unknown-fields": True}, {"required": ["extra"]}, {"maxProperties": 2}]
        if properties:
            gone = rng.choice(sorted(properties))
            changes += [{"properties": {name: child for name, child in properties.items() if name != gone}}] * 3
    node |= rng.choice(changes)


async def _objects(versions: tuple[Json, ...], rng: random.Random) -> tuple[AppliedObject, ...]:
    """Return objects that a server stores."""
    old = definition(DefinitionPair("", versions, versions, ()).crd(versions))
    judged = CompiledDefinition(old)
    found: list[AppliedObject] = []
    for _ in range(_ATTEMPTS):
        chosen = rng.choice(versions)
        schema = chosen["schema"]["openAPIV3Schema"]
        spec = generate(schema["properties"]["spec"], rng, 1)
        if not isinstance(spec, dict):
            continue
        status = generate(schema["properties"]["status"], rng, 1) if rng.random() < 0.5 else None
        given = AppliedObject((spec,), chosen["name"], status if isinstance(status, dict) and status else None)
        if await _is_stored(judged, given):
            found.append(given)
        if len(found) == _OBJECTS:
            break
    return tuple(found)


async def _is_stored(judged: CompiledDefinition, given: AppliedObject) -> bool:
    try:
        ((stored),) = await stored_objects(judged.definition, [given])
    except (StatusError, AssertionError, ValueError):
        return False
    obj = dict(stored.object) | {"apiVersion": f"{judged.definition.group}/{given.version}"}
    chosen = judged.version(given.version)
    try:
        body = chosen.body(obj)
    except ValueError:
        return False
    return not chosen.create_errors(body) and not chosen.schema.validate_status(body)
