"""Validation of policies, and their updates."""

import pytest

from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.resources.registry.admissionregistration.kinds import MUTATING_POLICY_KIND, VALIDATING_POLICY_KIND
from tests.unit.resources.registry.admissionregistration.objects import MUTATING, decoded, new_errors, policy, update_errors


def test_tolerates_unchanged_match_conditions() -> None:
    """Check match conditions only when one of them or the kind of parameters has changed."""
    broken = policy(matchConditions=[{"name": "a", "expression": "nothing"}])
    other = policy(matchConditions=[{"name": "a", "expression": "nothing"}], failurePolicy="Ignore")
    with_params = policy(matchConditions=[{"name": "a", "expression": "nothing"}], paramKind={"apiVersion": "v1", "kind": "ConfigMap"})

    assert new_errors(VALIDATING_POLICY_KIND, broken) == ["spec.matchConditions[0].expression"]
    assert update_errors(VALIDATING_POLICY_KIND, other, broken) == []
    assert update_errors(VALIDATING_POLICY_KIND, with_params, broken) == ["spec.matchConditions[0].expression"]


def test_variables_are_typed() -> None:
    """Know the types of variables in later expressions, and take a broken one for any type."""
    number = policy(variables=[{"name": "x", "expression": "1"}], validations=[{"expression": "variables.x"}])
    broken = policy(variables=[{"name": "x", "expression": "nothing"}], validations=[{"expression": "variables.x == 1"}])

    assert new_errors(VALIDATING_POLICY_KIND, number) == ["spec.validations[0].expression"]
    assert new_errors(VALIDATING_POLICY_KIND, broken) == ["spec.variables[0].expression"]


def test_mutations_change_no_deletions() -> None:
    """Refuse DELETE in the constraints of mutations."""
    rules = [{**MUTATING["matchConstraints"]["resourceRules"][0], "operations": ["DELETE"]}]
    obj = decoded(MUTATING_POLICY_KIND, spec=MUTATING | {"matchConstraints": {"resourceRules": rules}})

    assert new_errors(MUTATING_POLICY_KIND, obj) == ["spec.matchConstraints.resourceRules.operations"]


def test_many_expressions_leave_the_event_loop() -> None:
    """Check expressions in a worker process when they take long."""
    large = policy(validations=[{"expression": f"object.spec.x{n} > {n} && object.spec.y == 'a'"} for n in range(2000)])

    with InlineWork(), pytest.raises(HeavyWorkError):
        new_errors(VALIDATING_POLICY_KIND, large)
