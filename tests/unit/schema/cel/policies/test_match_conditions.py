"""Match conditions of webhooks and policies."""

from __future__ import annotations

import pytest

from apiext.schema.cel.policies.match_conditions import ConditionsResult, aggregate, compile_match_conditions
from tests.unit.schema.cel.policies.requests import inputs

_NOPE = "object.nope"
_NOPE_ERROR = "expression 'object.nope == 1' resulted in error: no such key: nope"


def _evaluate(*expressions: str) -> ConditionsResult:
    conditions = [{"name": f"c{number}", "expression": expression} for number, expression in enumerate(expressions)]
    return compile_match_conditions(conditions).evaluate(inputs())


def test_all_conditions_must_be_true() -> None:
    """The first false condition decides, even after one that fails."""
    met = _evaluate("object.spec.size == 3", "request.name == 'w'")
    missed = _evaluate(f"{_NOPE} == 1", "object.spec.size == 4", "false")

    assert (met.matches, met.error) == (True, None)
    assert (missed.matches, missed.error, missed.failed_condition, missed.failures) == (False, None, "c1", 1)


@pytest.mark.parametrize(
    "expressions, error",
    [
        ([f"{_NOPE} == 1", "true"], _NOPE_ERROR),
        ([f"{_NOPE} == 1", f"{_NOPE} == 1"], _NOPE_ERROR),
        (["1"], "compilation error: must evaluate to bool but got int"),
        ([f"{_NOPE} == 1", "1"], f"[{_NOPE_ERROR}, compilation error: must evaluate to bool but got int]"),
    ],
)
def test_errors_of_conditions(expressions: list[str], error: str) -> None:
    """Without a false condition, all errors make the result unknown."""
    result = _evaluate(*expressions)

    assert (result.matches, result.error) == (False, error)


def test_conditions_share_a_budget() -> None:
    """Eight authorization checks cost more than conditions may."""
    check = "authorizer.path('/x').check('get').allowed()"
    result = _evaluate(*[f"{check} && {check}"] * 4)

    assert result.error == "validation failed due to running out of cost budget, no further validation rules will be run"


def test_aggregates_name_each_error_once() -> None:
    """One error stands alone."""
    assert (aggregate(["a", "a"]), aggregate(["a", "b", "a"])) == ("a", "[a, b]")
