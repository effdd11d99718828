"""Mutations of the nodes of schemas."""

import copy
from typing import Any

import pytest

from apiext.resources.definitions.codec import canonical
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, create_definition
from hack.lib.foretell.schema_mutations import MUTATIONS, change_enum, change_list, mutate_place
from hack.lib.foretell.schema_places import Mutation, Place, places
from tests.support.builders.crds import crd, version
from tests.support.builders.seeds import seeded

Json = dict[str, Any]
STRING: Json = {"type": "string"}
SPEC: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": STRING | {"enum": ["a", "b", "c"], "default": "a"},
        "text": STRING | {"nullable": True, "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
        "size": {"type": "integer", "maximum": 9},
        "list": {"type": "array", "maxItems": 9, "items": {"type": "object", "properties": {"key": STRING, "n": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": STRING},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
VALUE: Json = {"name": "a", "text": "abc", "size": 3, "list": [{"key": "a"}], "map": {"k": "v"}, "any": {"x": 1}}


def _schema() -> Json:
    return copy.deepcopy({"type": "object", "properties": {"spec": SPEC}})


def _places(schema: Json) -> list[Place]:
    return places(schema, [{"spec": VALUE}])


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: str(mutation.__name__))
def test_each_mutation_changes_a_schema(mutation: Mutation) -> None:
    """Change the schema where a mutation says that it does, apart from a choice of the same value, and nowhere else."""
    rng = seeded(1)
    changed = []
    for _ in range(10):
        for number in range(len(_places(_schema()))):
            schema = _schema()
            note = mutation(_places(schema)[number], rng)
            changed.append(schema != _schema())
            assert note is not None or schema == _schema() or mutation in (change_enum, change_list)

    assert any(changed)


async def test_most_mutated_definitions_are_accepted() -> None:
    """Make definitions that a server creates, apart from some."""
    rng = seeded(1)
    accepted = 0
    for _ in range(100):
        schema = _schema()
        assert mutate_place(rng.choice(_places(schema)), rng)
        try:
            await create_definition(canonical(crd("widgets", version("v1", storage=True, schema=schema))))
        except DefinitionRefusedError:
            continue
        accepted += 1

    assert 60 < accepted < 100


def test_mutations_are_the_same_for_a_seed() -> None:
    """Repeat the choices of a Random."""

    def made() -> tuple[str | None, Json]:
        schema, rng = _schema(), seeded(5)
        return mutate_place(rng.choice(_places(schema)), rng), schema

    assert made() == made()
