"""The schemas of fields that rules name."""

from typing import Any

import pytest

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.field_types import OPEN, FieldTypes, part_type, schema_at
from apiext.resources.conversion.rules.inverse import MovedPaths
from apiext.resources.conversion.rules.model import EACH, FieldSteps, Rule
from apiext.resources.conversion.rules.operations.split import PartType
from apiext.schema.model import Structural
from tests.support.builders.conversions import fields, items

SCHEMA = Structural(
    fields(
        a=fields(b="integer"),
        rows=items(items(fields(c="boolean"))),
        map={"type": "object", "additionalProperties": fields(d="string")},
        open={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        port={"x-kubernetes-int-or-string": True},
    )
)


@pytest.mark.parametrize(
    "path, kind",
    [
        (("a", "b"), "integer"),
        (("rows", EACH, EACH, "c"), "boolean"),
        (("map", EACH, "d"), "string"),
        (("map", "key", "d"), "string"),
        (("metadata", "labels", "x"), "string"),
    ],
)
def test_a_field_has_a_schema(path: FieldSteps, kind: str) -> None:
    """Find the schema of a field through lists and maps."""
    found = schema_at(SCHEMA, path)

    assert found is not None
    assert found.raw["type"] == kind


def test_unknown_fields() -> None:
    """Tell fields that a version cannot have from those that it keeps."""
    assert schema_at(SCHEMA, ("a", "x")) is None
    assert schema_at(SCHEMA, ("open", "x", "y")) is OPEN


@pytest.mark.parametrize(
    "schema, kind",
    [
        (None, PartType.TEXT),
        ({"type": "string"}, PartType.TEXT),
        ({"type": "integer"}, PartType.INTEGER),
        ({"type": "boolean"}, PartType.BOOLEAN),
        ({"x-kubernetes-int-or-string": True}, PartType.INTEGER_OR_TEXT),
    ],
)
def test_types_of_parts(schema: Any, kind: PartType) -> None:
    """Choose the type of a part by its schema; other types are texts."""
    assert part_type(schema and Structural(schema)) is kind


def test_fields_are_followed_to_both_versions() -> None:
    """Find the schema in the spoke of a field before a rule, and in the hub of one after it."""
    rules: list[Rule] = [model.Move(("a",), ("x",)), model.Copy(("x", "b"), ("y",)), model.Move(("y",), ("a", "b"))]
    types = FieldTypes(SCHEMA, SCHEMA, MovedPaths(rules), 1)
    spoke, hub = types.in_spoke(("x", "b")), types.in_hub(("y",))

    assert spoke is not None
    assert hub is not None
    assert spoke.raw == hub.raw == {"type": "integer"}
