"""Generated pairs of releases."""

import pytest

from apiext.resources.definitions.codec import canonical
from apiext.resources.evaluation.definition_creation import create_definition, validate_update
from hack.lib.foretell.mutated_pairs import NoPairError, mutated_pair
from tests.support.builders.crds import crd, version, widget_crd
from tests.support.builders.seeds import seeded


async def test_pairs_are_accepted_updates_with_objects() -> None:
    """Make pairs in both directions in groups of their own; only a stored version may be dropped against the rules."""
    names = set()
    for seed in range(20):
        pair = await mutated_pair(widget_crd(), f"seed {seed}", f"p{seed}", seeded(seed))
        old = await create_definition(canonical(pair.old))
        reasons = validate_update(old, canonical(pair.new))
        names.add("back" if "back from" in pair.name else "forward")

        assert pair.old != pair.new
        assert pair.old["spec"]["group"] == pair.new["spec"]["group"] == f"p{seed}.example.com"
        assert all(reason.startswith("status.storedVersions") for reason in reasons)
        assert pair.objects

    assert names == {"back", "forward"}


async def test_a_pair_is_the_same_for_a_seed() -> None:
    """Repeat the choices of a Random."""
    first, second = [await mutated_pair(widget_crd(), "x", "p", seeded(3)) for _ in range(2)]

    assert first == second


async def test_a_refused_definition_gives_no_pair() -> None:
    """Give up where a server refuses the definition itself."""
    schema = {"type": "object", "properties": {"spec": {"description": "without a type"}}}

    with pytest.raises(NoPairError, match="must not be empty"):
        await mutated_pair(crd("widgets", version("v1", storage=True, schema=schema)), "x", "p", seeded(1))
