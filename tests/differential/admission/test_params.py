"""Policies see the parameters that the reference's see, at every place of an expression."""

import itertools
from collections.abc import Iterator, Mapping

import pytest

from hack.lib.differential.pair import Step
from hack.lib.waiting import until
from tests.differential.cases import param_changes, param_mutations, param_places, param_values
from tests.differential.cases.admission_objects import Json
from tests.differential.cases.policy_cases import step
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair, must

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def typed(guarded: GuardedPair) -> Iterator[GuardedPair]:
    """Create a parameter of each kind."""
    made = [*param_values.parameters(), *param_places.parameters()]
    for (_, side), (path, obj) in itertools.product(guarded.sides, made):
        must(side, Step("POST", path, obj))
    yield guarded
    for (_, side), (path, obj) in itertools.product(guarded.sides, made):
        side.raw(Step("DELETE", f"{path}/{obj['metadata']['name']}"))


def compare(pair: GuardedPair, made: Mapping[str, list[Json]]) -> list[str]:
    """Return the differences of a write for each case, while the policies of all are there."""
    with pair.installed(*itertools.chain.from_iterable(made.values())):
        return [f"{case}: {line}" for case in made for line in pair.differences(step(case))]


def test_values(typed: GuardedPair) -> None:
    """Evaluate values of every type, in parameters of every kind."""
    assert_none(compare(typed, param_values.values()))


def test_places(typed: GuardedPair) -> None:
    """Deny, word, name, annotate and restrict by parameters, also where there are none."""
    assert_none(compare(typed, param_places.places()))


def test_references(typed: GuardedPair) -> None:
    """Find parameters by name and by selector, and act on missing ones."""
    assert_none(compare(typed, param_places.references()))


def test_mutations(typed: GuardedPair) -> None:
    """Write values of every type into objects, by both types of patches."""
    assert_none(compare(typed, param_mutations.mutations()))


def test_changes(guarded: GuardedPair) -> None:
    """See parameters that are created, changed and deleted, by name and by selector."""
    cases = list(param_changes.changing())
    found = []
    with guarded.installed(*itertools.chain.from_iterable(made for _, _, made in cases)):
        for change, (steps, texts) in param_changes.CHANGES.items():
            for (_, side), one in itertools.product(guarded.sides, steps):
                must(side, one)
            for case, way, _ in cases:
                if case.endswith("-deny"):
                    # informers see changes later
                    _until_shown(guarded, step(case), texts[way])
            found += [f"{change}, {case}: {line}" for case, _, _ in cases for line in guarded.differences(step(case))]

    assert_none(found)


def _until_shown(pair: GuardedPair, asked: Step, text: str) -> None:
    """Wait until the answers of both servers contain a text."""
    for name, side in pair.sides:
        until(lambda side=side: text in side.raw(asked)[1].decode(), f"{text} in the answer of {name} to {asked}")  # type: ignore[misc]
