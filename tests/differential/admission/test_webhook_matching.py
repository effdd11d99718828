"""Servers ask the same webhooks, in the same order and with the same reviews."""

from collections.abc import Iterator

import pytest

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_objects import create, thing
from tests.differential.cases.admission_scenarios import (
    BROKEN_CONDITIONS,
    CONDITIONS,
    MATCHING,
    REINVOCATION,
    A,
    Scenario,
    broken_conditions,
)
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair

pytestmark = pytest.mark.slow


@pytest.fixture
def guarded_thing(guarded: GuardedPair) -> Iterator[GuardedPair]:
    """Make Thing a."""
    guarded.pair.differences(create(thing(replicas=1, text="t")))
    yield guarded
    guarded.pair.differences(Step("DELETE", A))


def _compare(guarded: GuardedPair, scenario: Scenario) -> list[str]:
    with guarded.installed(*scenario.configurations):
        guarded.webhook.answers.update(scenario.answers)
        return guarded.compare(scenario.steps)


@pytest.mark.parametrize("name", [*MATCHING, *REINVOCATION])
def test_scenario(guarded_thing: GuardedPair, name: str) -> None:
    """Match rules, versions and selectors, order and repeat calls as the reference does."""
    assert_none(_compare(guarded_thing, (MATCHING | REINVOCATION)[name]))


def test_match_conditions(guarded_thing: GuardedPair) -> None:
    """Evaluate match conditions as the reference does."""
    assert_none(_compare(guarded_thing, CONDITIONS))


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_broken_match_conditions(guarded_thing: GuardedPair, policy: str) -> None:
    """Fail or skip a webhook with the reference's words when a condition fails."""
    found = []
    for name in BROKEN_CONDITIONS:
        found += [f"{name}: {line}" for line in _compare(guarded_thing, broken_conditions(policy, name))]

    assert_none(found)
