"""What holds for every pair of definitions: generated ones, and real ones with random changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.resources.comparison.change import Direction
from apiext.resources.comparison.definition_comparison import compare_definitions, compare_served_versions
from apiext.resources.comparison.grades import Grades
from apiext.resources.comparison.rules import RULES
from apiext.resources.comparison.schema_comparison import compare_schemas
from hack.lib.real_crds import NO_REAL, REAL
from tests.support.builders.crds import definition
from tests.support.builders.generated_definitions import definition as generated
from tests.support.builders.mutated_definitions import mutated
from tests.support.builders.random_schemas import random_schema
from tests.support.builders.seeds import seeded

GRADES: Final = Grades()
OPPOSITE: Final = {
    Direction.ADDED: Direction.REMOVED,
    Direction.REMOVED: Direction.ADDED,
    Direction.NARROWED: Direction.WIDENED,
    Direction.WIDENED: Direction.NARROWED,
    Direction.CHANGED: Direction.CHANGED,
}
FILES: Final = sorted(REAL.glob("*/*.json"))


def seen(changes: Any, *, back: bool = False) -> list[tuple[str, ...]]:
    """Return version, path, subject and direction of changes, with `back` those of the opposite changes."""
    found = []
    for change in changes:
        rule = RULES[change.rule]
        if rule.subject != "storedVersion":
            direction = OPPOSITE[rule.direction] if back else rule.direction
            found.append((getattr(change, "version", ""), change.path, rule.subject, direction.value))
    return sorted(found)


@pytest.mark.parametrize("seed", range(60))
def test_generated_definitions(seed: int) -> None:
    """Find no change between equal definitions, and the opposite changes in the other direction."""
    rng = seeded(seed)
    old, new = (generated("example.com", rng) for _ in range(2))

    assert compare_definitions(definition(old), definition(old), GRADES) == []
    there, back = (compare_definitions(definition(one), definition(other), GRADES) for one, other in ((old, new), (new, old)))
    assert seen(there) == seen(back, back=True)
    assert seen(there)


@pytest.mark.parametrize("seed", range(60))
def test_random_schemas(seed: int) -> None:
    """Find the opposite changes in the other direction for schemas with all keywords."""
    rng = seeded(seed)
    old, new = (random_schema(rng) for _ in range(2))

    assert compare_schemas(old, old | {}) == []
    assert seen(compare_schemas(old, new)) == seen(compare_schemas(new, old), back=True)


@pytest.mark.skipif(not FILES, reason=NO_REAL)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_definitions_with_changes(path: Path) -> None:
    """Find all random changes of a published definition, and nothing else."""
    crd = json.loads(path.read_text())
    if "group" not in crd["spec"]:
        pytest.skip("a fragment that only sets a webhook")
    made, mutations = mutated(crd, seeded(path.stem), 12)
    old, new = definition(crd), definition(made)

    assert compare_definitions(old, definition(crd), GRADES) == []
    assert compare_served_versions(old, GRADES, old) == []
    assert sorted((change.version, change.path, change.rule) for change in compare_definitions(old, new, GRADES)) == sorted(
        (mutation.version, mutation.path, mutation.rule) for mutation in mutations
    )
    assert mutations
