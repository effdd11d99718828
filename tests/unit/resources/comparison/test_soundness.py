"""What a comparison calls harmless harms no object: the server's own schemas judge."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.comparison.change import Grade, Hurts
from apiext.resources.comparison.rules import RULES
from apiext.resources.comparison.schema_comparison import compare_schemas
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.validation.definition import validate_create
from apiext.schema.compiled import CompiledSchema
from hack.lib.differential.generated_objects import generate_resource
from hack.lib.foretell.place_mutations import PLACE_MUTATIONS
from hack.lib.foretell.schema_places import places
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from tests.support.builders.crds import crd, version
from tests.support.builders.mutated_definitions import mutated
from tests.support.builders.random_schemas import random_schema
from tests.support.builders.seeds import seeded

Schema = dict[str, Any]
OBJECTS: Final = 8
"""Objects of each pair of schemas."""
ODD: Final = ({"defaultAdded"}, {"typeWidened", "formatWidened"})
"""Rules of changes by which an odd object may become invalid: a default is a field too many for maxProperties, and a list, which the
reference accepts for a text with a format, is no int-or-string."""


def decoded(schema: CompiledSchema, obj: Any, *, defaults: bool = True) -> Any:
    """Return an object as the server reads it, None if it cannot. Without `defaults`, it only lacks unknown fields."""
    found = json_codec.loads(json_codec.dumps(obj))
    try:
        schema.coerce(found, defaults=defaults)
    except ValueError:
        return None
    return found


def is_valid(schema: CompiledSchema, obj: Any) -> bool:
    """Report whether the server accepts an object as it reads it. CEL rules are left out."""
    return obj is not None and not [*schema.validate_values(obj), *schema.validate_resources(obj), *schema.validate_lists(obj)]


def keeps(before: Any, after: Any) -> bool:
    """Report whether a value has all that another one had, with or without new fields."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and keeps(value, after[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(keeps, before, after))
    # 2.0 is stored as 2
    return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)


def assert_sound(old: Schema, new: Schema, rng: random.Random) -> int:
    """Assert that objects fare as the changes say; return how many were valid."""
    changes = compare_schemas(old, new)
    hurts = {RULES[change.rule].hurts for change in changes}
    before, after = CompiledSchema(old), CompiledSchema(new)
    valid = 0
    for _ in range(OBJECTS):
        written = generate_resource(old, rng, api_version="example.com/v1", kind="Widget")
        stored = decoded(before, written)
        if not is_valid(before, stored):
            continue
        valid += 1
        read = decoded(after, stored)
        if Hurts.CLIENTS not in hurts:
            assert keeps(stored, read), (changes, stored, read)
            if not changes:
                assert stored == read
        if hurts <= {Hurts.NOBODY}:
            # a field that was unknown may become one of another type
            known = decoded(before, written, defaults=False)
            assert is_valid(after, decoded(after, known)), (changes, known)
            assert is_valid(after, read), (changes, stored)
    return valid


def assert_safe(old: Schema, new: Schema, rng: random.Random, objects: list[Any]) -> int:
    """Assert that objects stay valid and whole where no change is graded as an error; return how many were judged."""
    changes = compare_schemas(old, new)
    rules = {change.rule for change in changes}
    if any(RULES[rule].grade is Grade.ERROR for rule in rules) or any(odd <= rules for odd in ODD):
        return 0
    before, after = CompiledSchema(old), CompiledSchema(new)
    judged = 0
    for written in objects or [generate_resource(old, rng, api_version="example.com/v1", kind="Widget") for _ in range(OBJECTS)]:
        stored = decoded(before, written)
        if is_valid(before, stored):
            judged += 1
            read = decoded(after, stored)
            assert is_valid(after, read), (changes, stored)
            assert keeps(stored, read), (changes, stored, read)
    return judged


def replaced(schema: Schema, objects: list[Any], rng: random.Random) -> Schema | None:
    """Return a copy with a node of another kind in the place of one, None if no server accepts it."""
    made = copy.deepcopy(schema)
    chosen = rng.choice(places(made, objects))
    for mutation in rng.sample(PLACE_MUTATIONS, len(PLACE_MUTATIONS)):
        if mutation(chosen, rng) and made != schema:
            return made if is_accepted(made) else None
    return None


def edited(schema: Schema, rng: random.Random) -> Schema | None:
    """Return a copy with one other keyword somewhere, None if no server accepts it."""
    made = copy.deepcopy(schema)
    node = rng.choice([*nodes(made)][1:] or [made])
    if rng.random() < 0.4:
        node.pop(rng.choice(sorted(node)), None)
    else:
        others = [other for other in nodes(random_schema(rng)) if other.get("type") == node.get("type")]
        other = rng.choice(others or [node])
        key = rng.choice(sorted(other) or ["nullable"])
        node[key] = other.get(key, True)
    return made if is_accepted(made) else None


def is_accepted(schema: Schema) -> bool:
    """Report whether a server accepts a definition with the schema, and checks all of its defaults: it does not below maps."""
    values = [each["additionalProperties"] for each in nodes(schema) if isinstance(each.get("additionalProperties"), dict)]
    if any("default" in below for value in values for below in nodes(value)):
        return False
    return not validate_create(canonical(crd("widgets", version("v1", storage=True, schema=schema))))


def nodes(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and those of the values below it."""
    yield schema
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for child in below:
        if isinstance(child, dict):
            yield from nodes(child)


@pytest.mark.parametrize("seed", range(60))
def test_random_schemas(seed: int) -> None:
    """Keep all objects of a random schema readable and valid if the comparison says so."""
    rng = seeded(f"sound{seed}")
    old = json.loads(json.dumps({**random_schema(rng), "type": "object"}))
    if is_accepted(old):
        for _ in range(10):
            new = edited(old, rng)
            if new is not None:
                assert_sound(old, new, rng)
                assert_sound(new, old, rng)


def test_nodes_in_the_place_of_others() -> None:
    """Keep all objects valid and whole where a node of another kind takes the place of one, and the comparison finds no error."""
    judged = [0, 0]
    for seed in range(120):
        rng = seeded(f"place{seed}")
        old = json.loads(json.dumps({**random_schema(rng), "type": "object"}))
        if not is_accepted(old):
            continue
        objects = [generate_resource(old, rng, api_version="example.com/v1", kind="Widget") for _ in range(OBJECTS)]
        for _ in range(10):
            new = replaced(old, objects, rng)
            if new is not None:
                assert_sound(old, new, rng)
                judged[0] += assert_safe(old, new, rng, objects)
                judged[1] += assert_safe(new, old, rng, [])

    assert all(judged), judged


@pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)
def test_real_schemas() -> None:
    """Keep all objects of published definitions readable and valid if the comparison says so."""
    valid = 0
    for real in real_crds("karpenter", "knative-eventing"):
        if "group" not in real["spec"]:
            continue
        rng = seeded(real["metadata"]["name"])
        for _ in range(3):
            made, _ = mutated(real, rng, 1)
            for one, other in zip(real["spec"]["versions"], made["spec"]["versions"], strict=True):
                old, new = (each["schema"]["openAPIV3Schema"] for each in (one, other))
                valid += assert_sound(old, new, rng) + assert_sound(new, old, rng)

    assert valid > 0
