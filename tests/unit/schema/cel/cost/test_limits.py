"""Tests of the limits on the costs of a definition's rules."""

from typing import Any, Final

import pytest

from apiext.base.meta.field import Path
from apiext.schema.cel.cost.estimate import MAX_UINT64
from apiext.schema.cel.cost.limits import SchemaCosts, cardinality_by_size, child_cardinality

ADVICE: Final = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
ROOT: Final = Path("openAPIV3Schema")
RULES: Final = ROOT.child("x-kubernetes-validations")


@pytest.mark.parametrize(
    "cost, factor",
    [
        (10_000_001, "1.000000x"),
        (14_999_999, "1.500000x"),
        (15_000_000, "1.5x"),
        (26_500_000, "2.6x"),
        (1_000_000_000, "100.0x"),
        (1_000_000_001, "more than 100x"),
        (MAX_UINT64, "more than 100x"),
    ],
)
def test_an_expensive_rule_is_forbidden(cost: int, factor: str) -> None:
    """The error names the factor by which the limit is exceeded, with six digits for small ones."""
    errors = SchemaCosts().add_rule(RULES.index(2), cost, 1)

    detail = f"estimated rule cost exceeds budget by factor of {factor} {ADVICE}"
    assert [str(error) for error in errors] == [f"openAPIV3Schema.x-kubernetes-validations[2].rule: Forbidden: {detail}"]


def test_a_rule_counts_for_each_value() -> None:
    """A rule costs as much as all its evaluations together; a message is evaluated once."""
    costs = SchemaCosts()

    assert costs.add_rule(RULES.index(0), 1000, 10_000) == []
    assert costs.add_message(RULES.index(0), 10_000_000) == []
    assert costs.total == 20_000_000
    assert len(costs.add_rule(RULES.index(1), 1001, 10_000)) == 1


def test_costs_saturate() -> None:
    """Costs above the largest unsigned 64-bit integer count as that."""
    costs = SchemaCosts(suppressed=True)

    assert costs.add_rule(RULES.index(0), MAX_UINT64, MAX_UINT64) == []
    assert costs.add_rule(RULES.index(1), MAX_UINT64, 1) == []
    assert costs.total == MAX_UINT64


def test_an_expensive_message_is_forbidden() -> None:
    """The limit of expressions applies to messages, too."""
    errors = SchemaCosts().add_message(RULES.index(0), 20_000_000)

    detail = f"estimated messageExpression cost exceeds budget by factor of 2.0x {ADVICE}"
    assert [str(error) for error in errors] == [f"openAPIV3Schema.x-kubernetes-validations[0].messageExpression: Forbidden: {detail}"]


def test_an_expensive_schema_names_its_most_expensive_expressions() -> None:
    """The four most expensive expressions are listed, the first to occur first among equals; the total follows at the schema."""
    costs = SchemaCosts(suppressed=True)
    for index, cost in enumerate([999_999, 30_000_000, 1_000_000, 40_000_000, 30_000_000, 20_000_000]):
        costs.add_rule(RULES.index(index), cost, 1)

    contribution = "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert [str(error) for error in costs.errors(ROOT)] == [
        *(f"openAPIV3Schema.x-kubernetes-validations[{index}].rule: {contribution}" for index in (3, 1, 4, 5)),
        f"openAPIV3Schema: Forbidden: {name} exceeds budget by factor of 1.220000x {ADVICE}",
    ]


def test_cheap_expressions_are_not_listed() -> None:
    """An expression below a hundredth of the limit is not named; at the limit nothing is reported."""
    costs = SchemaCosts()
    for index in range(100):
        costs.add_rule(RULES.index(index), 999_999, 1)
    costs.add_message(RULES.index(0), 100)
    assert costs.errors(ROOT) == []

    costs.add_message(RULES.index(1), 1)
    assert len(costs.errors(ROOT)) == 1


@pytest.mark.parametrize(
    "schema, expected",
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}, "maxProperties": 5}, 7),
        ({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 5}, 35),
        ({"type": "object", "additionalProperties": {"type": "string"}}, None),
        ({"type": "object", "additionalProperties": True}, None),
        ({"type": "array", "maxItems": 3}, 21),
        ({"type": "array", "maxItems": -3}, 0),
        ({"type": "array"}, None),
        ({"type": "array", "maxItems": 2**62}, MAX_UINT64),
        ({"type": "string", "maxLength": 4}, 7),
        ({"x-kubernetes-int-or-string": True}, 7),
    ],
)
def test_lists_and_maps_multiply(schema: dict[str, Any], expected: int | None) -> None:
    """Values inside a list or a map occur as often as its limit allows."""
    assert child_cardinality(7, schema) == expected
    assert child_cardinality(None, schema) is None


def test_a_request_limits_the_number_of_values() -> None:
    """Without a limit of the schema there are as many values as a request has room for."""
    assert cardinality_by_size(2) == 1_048_576
    assert cardinality_by_size(7) == 393_216
