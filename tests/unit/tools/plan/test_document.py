"""A plan as a JSON document."""

import json
from typing import Any

import jsonschema
import pytest

from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan.document import document_of, schema
from apiext.tools.plan.plan import Need, ReleasePlan, Safety, State, StepKind
from apiext.tools.releases.interface import Release
from tests.support.builders.plans import NAME, WEBHOOK, ListedObjects, created, custom, plan_of, release, shaped

ONE = created(shaped("v1", "a", "host", storage=True))
PLANS = {
    "added": plan_of(None, ONE, ListedObjects(custom("w", a="x"))),
    "unchanged": plan_of(ONE, ONE),
    "changed": plan_of(ONE, created(shaped("v1", "a"), shaped("v2", "a", storage=True)), ListedObjects(custom("w", a="x", host="h"))),
    "webhook": plan_of(ONE, created(shaped("v1", "a"), shaped("v2", "a", storage=True), conversion=WEBHOOK), ListedObjects(custom("w"))),
    "removed": plan_of(release(ONE, is_live=True), release(), ListedObjects(custom("w")), removes=True),
    "refused": plan_of(ONE, Release("new", {}, {NAME: ["x"]})),
}


def _document(plan: ReleasePlan) -> Any:
    return json.loads(json.dumps(document_of(plan)))


@pytest.mark.parametrize("name", PLANS)
def test_follows_the_schema(name: str) -> None:
    """Follow the JSON Schema, which describes every member."""
    document = _document(PLANS[name])
    closed = json.loads(json.dumps(schema()).replace('"additionalProperties": true', '"additionalProperties": false'))

    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(closed).validate(document)


def test_content() -> None:
    """Give the verdict, and all parts of the plan."""
    document = _document(PLANS["changed"])
    (found,) = document["definitions"]

    assert (document["apiVersion"], document["kind"], document["verdict"]) == ("lab.apiext.dev/v1alpha1", "Plan", "breaking")
    assert (document["from"], document["to"], document["objects"], document["stored"]) == ("old", "new", "a list", None)
    assert [step["kind"] for step in found["steps"]] == ["apply", "migrate", "prune-stored-versions"]
    assert found["versions"]["storedVersions"] == {"before": ["v1"], "afterRelease": ["v1", "v2"], "afterAllSteps": ["v2"]}
    assert found["objects"]["total"] == 1
    assert found["rollback"]["verdict"] == "steps"


@pytest.mark.parametrize(
    "name,values",
    [
        ("verdict", Safety),
        ("definition/properties/state", State),
        ("step/properties/kind", StepKind),
        ("step/properties/need", Need),
    ],
)
def test_the_schema_has_all_values(name: str, values: Any) -> None:
    """List exactly the values that a plan may have."""
    found: Any = schema()["$defs"]
    for part in name.split("/"):
        found = found[part]

    assert set(found["enum"]) == set(values)


def test_the_schema_has_examples_of_all_findings() -> None:
    """Name all kinds of findings."""
    assert set(schema()["$defs"]["finding"]["properties"]["kind"]["examples"]) == set(FindingKind)
