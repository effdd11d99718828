"""The CRD of Conversion objects."""

import copy
from typing import Any

import pytest

from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.resources.conversion.rules.interface import InvalidConversionError
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.resources.definitions.codec import CRDCodec
from apiext.schema.compiled import CompiledSchema
from apiext.tools.releases.crd_files import create_release
from tests.support.builders.conversion_cases import ACCEPTED, REFUSED, with_rules


@pytest.fixture(scope="module")
def schema() -> CompiledSchema:
    """Compile the schema of Conversion objects."""
    return CompiledSchema(conversion_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def _errors(schema: CompiledSchema, document: dict[str, Any]) -> list[str]:
    """Return why a server refuses to create an object with strict field validation."""
    document = copy.deepcopy(document)
    unknown = schema.coerce(document, defaults=True, report=True)
    values = [*schema.validate_values(document), *schema.validate_lists(document)]
    return [*unknown, *map(str, values), *map(str, schema.validate_rules(document).errors if not values else [])]


async def test_a_server_accepts_the_definition() -> None:
    """Write a definition without unknown fields, which a server creates."""
    definition = conversion_definition()

    assert CRDCodec().decode_body(definition, True) == []
    release = await create_release("a test", [definition])
    assert (release.refused, list(release.definitions)) == ({}, ["conversions.conversions.apiext.dev"])


@pytest.mark.parametrize("rule", ACCEPTED, ids=lambda rule: next(iter(rule)))
def test_all_kinds_of_rules_are_accepted(schema: CompiledSchema, rule: Any) -> None:
    """Accept what the parser accepts, and keep all of it."""
    document = with_rules(rule)

    parse_rules(document)
    assert _errors(schema, document) == []


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_of_form_are_refused(schema: CompiledSchema, name: str) -> None:
    """Refuse what the parser refuses."""
    with pytest.raises(InvalidConversionError):
        parse_rules(REFUSED[name])
    assert _errors(schema, REFUSED[name]) != []


def test_the_message_names_the_kinds_of_rules(schema: CompiledSchema) -> None:
    """Say what a rule consists of."""
    (error,) = _errors(schema, with_rules({}))

    assert "spec.spokes[0].rules[0]: " in error
    assert "a rule must have exactly one member of rename, move, copy, " in error


def test_status_has_conditions_and_findings(schema: CompiledSchema) -> None:
    """Keep all members of the status."""
    condition = {"type": "Valid", "status": "True", "reason": "Checked", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    finding = {"path": "spec.hub", "message": "unknown"}
    loss = {"version": "v1", "path": "spec.a", "reason": "unused"}
    status = {"observedGeneration": 1, "conditions": [condition], "problems": [finding], "warnings": [finding], "losses": [loss]}

    assert _errors(schema, with_rules() | {"status": status}) == []
