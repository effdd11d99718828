"""A replay as JSON, text and JUnit XML."""

import io
import json
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from rich.console import Console

from apiext.tools.plan.plan import Need, Safety, StepKind
from apiext.tools.plan.step_finder import StoredFacts, find_steps
from apiext.tools.replay.outcome import DefinitionReplay, Foretold, Problem, ProblemKind, ReleaseChange, ReplayReport, StepReplay
from apiext.tools.replay.report import ReplayText, document_of, junit_of, schema
from tests.support.builders.plans import NAME, created, shaped


@pytest.fixture
def report() -> ReplayReport:
    """Return a replay with a step, and two problems."""
    (step,) = find_steps(None, created(shaped("v1", "a", storage=True)), StoredFacts()).steps
    lost = Problem(ProblemKind.LOST, "v1", "spec.a", "a label drops\x1b it", 4, ["a", "b", "c", "d"], Foretold.YES)
    refused = Problem(ProblemKind.REFUSED, "v1", "", "it is refused", 1, ["a"], Foretold.BEFORE)
    part = DefinitionReplay(NAME, Safety.BREAKING, 4, [StepReplay(step, 0.25)], [refused, lost], ["no time"])
    return ReplayReport("recording x", 4, [ReleaseChange("a", "b", is_way_back=True, definitions=[part])], ["y: no webhook"])


def test_document(report: ReplayReport) -> None:
    """Write all members."""
    document: Any = document_of(report)
    closed = json.loads(json.dumps(schema()).replace('"additionalProperties": true', '"additionalProperties": false'))

    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(closed).validate(document)
    assert (document["kind"], document["lost"], document["notProved"]) == ("Replay", True, ["y: no webhook"])
    part = document["transitions"][0]["definitions"][0]
    assert part["steps"][0] | {"title": ""} == {"kind": "apply", "need": "required", "title": "", "seconds": 0.25, "problem": None}
    assert [(one["kind"], one["foretold"], one["harm"]) for one in part["problems"]] == [
        ("refused", "before", False),
        ("lost", "yes", True),
    ]


@pytest.mark.parametrize(
    "part,name,values",
    [
        ("definition", "verdict", Safety),
        ("step", "kind", StepKind),
        ("step", "need", Need),
        ("problem", "kind", ProblemKind),
        ("problem", "foretold", Foretold),
    ],
)
def test_the_schema_has_all_values(part: str, name: str, values: Any) -> None:
    """List exactly the values that a replay may have."""
    assert set(schema()["$defs"][part]["properties"][name]["enum"]) == set(values)


def test_text(report: ReplayReport) -> None:
    """Write what was found, without control characters."""
    buffer = io.StringIO()
    ReplayText(Console(file=buffer, width=200, soft_wrap=True, highlight=False)).write(report)

    text = buffer.getvalue()
    assert "a -> b (rollback)" in text
    assert "foretold: 4 objects: v1 spec.a: a label drops\ufffd it (a, b, c, ...)" in text
    assert "as before the release: 1 object: v1: it is refused (a)" in text


def test_junit(report: ReplayReport) -> None:
    """Fail the cases that are harm."""
    root = ET.fromstring(junit_of(report))  # noqa: S314 -- written here

    assert (root.get("tests"), root.get("failures")) == ("4", "1")
    assert [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None] == ["lost v1 spec.a"]
