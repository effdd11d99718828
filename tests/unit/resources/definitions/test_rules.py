"""Rules of definitions on updates; tests/differential/cel/test_rules.py compares creations with kube-apiserver."""

from typing import Any

import pytest

from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.resources.definitions.validation.definition import validate_create, validate_update
from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionStrategy
from apiext.resources.registry.request_context import RequestContext
from tests.support.builders.crds import version
from tests.unit.resources.definitions.recorded import body, decoded

RULE = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
ITEMS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
SMALL = ITEMS | {"maxItems": 5, "items": {"type": "string", "maxLength": 5}}
LARGE = ITEMS | {"maxItems": 2000, "items": {"type": "string", "maxLength": 1}}
COSTLY = "self.all(x, self.all(y, x == y))"
NEWEST = "self.includes('a')"
"""Uses a function that only expressions may use which are stored already."""


def definition(*rules: str, items: dict[str, Any] = SMALL, versions: tuple[str, ...] = ("v1",)) -> dict[str, Any]:
    """Return a stored definition with rules about a list."""
    ruled = items | {"x-kubernetes-validations": [{"rule": rule, "message": "m"} for rule in rules]}
    schema = {"type": "object", "properties": {"spec": ruled}}
    one = decoded(body(versions=[version(name, storage=name == "v1", schema=schema) for name in versions]))
    CustomResourceDefinitionStrategy().prepare_for_create(RequestContext(), one)
    one["metadata"]["resourceVersion"] = "1"
    return one


def fields(old: dict[str, Any] | None, new: dict[str, Any]) -> set[str]:
    """Return the fields with errors."""
    return {error.field for error in (validate_create(new) if old is None else validate_update(new, old))}


def test_new_expressions() -> None:
    """Accept what a previous release of the reference does not know only in expressions that were stored before."""
    assert fields(None, definition(NEWEST)) == {RULE}
    assert fields(definition("true"), definition(NEWEST)) == {RULE}
    assert fields(definition(NEWEST), definition(NEWEST)) == set()
    assert fields(definition(NEWEST), definition("true", NEWEST)) == set()


def test_costs_of_unchanged_schemas() -> None:
    """Accept a rule that is too expensive if the schema of the version does not change; the total counts always."""
    assert fields(None, definition(COSTLY, items=LARGE)) == {RULE}
    assert fields(definition(COSTLY, items=LARGE), definition(COSTLY, items=LARGE)) == set()
    assert fields(definition(COSTLY, items=LARGE), definition(COSTLY, items=LARGE, versions=("v1", "v2"))) == set()
    assert fields(definition(COSTLY, items=LARGE), definition(COSTLY, "true", items=LARGE)) == {RULE}
    assert fields(definition(COSTLY, items=ITEMS), definition(COSTLY, items=ITEMS)) == {RULE, "spec.validation.openAPIV3Schema"}


def test_long_rules_are_not_compiled_on_the_event_loop() -> None:
    """Leave long rules to worker processes."""
    with InlineWork(), pytest.raises(HeavyWorkError):
        validate_create(definition("true && " * 1000 + "true"))
