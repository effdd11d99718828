"""Tests of static estimates: they are the reference's to the unit."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta.field import Path as FieldPath
from apiext.schema.cel.cost.estimator import estimate_cost
from apiext.schema.cel.cost.limits import SchemaCosts, cardinality_by_size, child_cardinality
from apiext.schema.cel.cost.worst_case import declared_sizes, worst_case
from apiext.schema.cel.declarations import Declaration, declare
from apiext.schema.model import Structural
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from tests.unit.schema.cel.cost.costed import costed, costed_many

DATA: Final = Path(__file__).parent / "data"
SCHEMA: Final[dict[str, Any]] = json.loads((DATA / "schema.json").read_text())
RULES: Final = [json.loads(line) for line in (DATA / "costs.jsonl").read_text().splitlines()]


def _estimate(expression: str, schema: dict[str, Any]) -> int:
    checked, declaration = costed(expression, schema)
    return estimate_cost(checked, declared_sizes(declaration)).max


def test_estimates_of_many_expressions() -> None:
    """Estimate as the reference does for expressions of all functions, operators and macros."""
    expressions = costed_many([rule["rule"] for rule in RULES], SCHEMA)
    found = {}
    for rule, (checked, declaration) in zip(RULES, expressions, strict=True):
        estimate = estimate_cost(checked, declared_sizes(declaration)).max
        if estimate != rule["estimate"]:
            found[rule["rule"]] = (estimate, rule["estimate"])

    assert found == {}


def test_worst_cases_of_many_expressions() -> None:
    """No evaluation counts more than the worst case."""
    expressions = costed_many([rule["rule"] for rule in RULES], SCHEMA)
    found = {}
    for rule, (checked, declaration) in zip(RULES, expressions, strict=True):
        if worst_case(checked, declaration) < rule["counted"]:
            found[rule["rule"]] = rule["counted"]

    assert found == {}


def test_estimates_miss_sizes() -> None:
    """The estimate is lower than the costs of some evaluations, so it is no worst case."""
    assert [rule["rule"] for rule in RULES if rule["counted"] > rule["estimate"]]


@pytest.mark.skipif(not REAL.exists(), reason=NO_REAL)
def test_real_definitions() -> None:
    """Estimate as the reference does for all rules of real definitions, with their cardinality and the total."""
    expected = [json.loads(line) for line in (DATA / "real.jsonl").read_text().splitlines()]
    schemas = {
        (crd["metadata"]["name"], version["name"]): version["schema"]["openAPIV3Schema"]
        for crd in real_crds()
        for version in crd["spec"]["versions"]
    }
    assert sum(len(definition["rules"]) for definition in expected) == 1090
    for definition in expected:
        found = _schema_costs(schemas[definition["crd"], definition["version"]])
        assert (definition["crd"], *found) == (definition["crd"], definition["rules"], definition["total"])


def test_schemas() -> None:
    """Estimate as the reference does for schemas with limits, required fields and odd names at all levels."""
    for line in (DATA / "schemas.jsonl").read_text().splitlines():
        expected = json.loads(line)
        found = _schema_costs(expected["schema"])
        assert (expected["schema"], *found) == (expected["schema"], expected["rules"], expected["total"])


def _schema_costs(schema: dict[str, Any]) -> tuple[list[list[int]], int]:
    """Return the cost and the cardinality of each rule, and the total."""
    costs = SchemaCosts(suppressed=True)
    rules = []
    for cost, cardinality in _rule_costs(schema, declare(Structural(schema), resource=True), 1):
        assert costs.add_rule(FieldPath("rule"), cost, cardinality) == []
        rules.append([cost, cardinality])
    return rules, costs.total


def _rule_costs(schema: dict[str, Any], declaration: Declaration | None, cardinality: int | None) -> Iterator[tuple[int, int]]:
    """Yield the cost and the cardinality of the rules of a schema, those of its children first."""
    inner, element = child_cardinality(cardinality, schema), None if declaration is None else declaration.element
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _rule_costs(schema["additionalProperties"], element, inner)
    fields = {} if declaration is None else {field.property: field.declaration for field in declaration.fields.values()}
    for name, child in sorted((schema.get("properties") or {}).items()):
        yield from _rule_costs(child, fields.get(name), inner)
    if "items" in schema:
        yield from _rule_costs(schema["items"], element, inner)
    if "x-kubernetes-validations" in schema:
        rules = [rule["rule"] for rule in schema["x-kubernetes-validations"]]
        for checked, declared in costed_many(rules, schema, declaration):
            times = cardinality_by_size(declared.min_size) if cardinality is None else cardinality
            yield estimate_cost(checked, declared_sizes(declared)).max, times


def test_deep_expressions() -> None:
    """Estimate expressions of any depth without Python's stack, in time that grows with their length."""
    schema = {"type": "object", "properties": {"l": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 5}}}}

    assert _estimate("self.l" + ".map(x, x)" * 200 + ".size() == 1", schema) == 7404
    assert _estimate("!(" * 100 + "true" + ")" * 100, schema) == 100
    assert _estimate(" && ".join(["self.l[0] == 'abc'"] * 2000), schema) == 8000
