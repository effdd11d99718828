"""Tests of merge types, against the types that the reference makes of CRDs and of built-in kinds."""

import json
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.builtin_resources import EVENTS, NAMESPACES
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.definitions import types as definition_types
from apiext.resources.managedfields.go_merge_types import from_go_type
from apiext.resources.managedfields.merge_types import DEDUCED, UNTYPED_ATOMIC, MergeType
from apiext.resources.managedfields.structural_types import from_schema
from apiext.schema.model import Structural

CASES = json.loads((Path(__file__).parent / "data" / "merge_types.json").read_text())
NAMES = {id(DEDUCED): "__untyped_deduced_", id(UNTYPED_ATOMIC): "__untyped_atomic_"}
BUILT_IN = {
    "CustomResourceDefinition": definition_types.DEFINITION,
    "Namespace": struct_of(NAMESPACES.kind),
    "Event": struct_of(EVENTS.kind),
}


def described(merge_type: MergeType | None, levels: int = 12) -> Any:
    """Return a type as the reference's schema describes it, references resolved."""
    if merge_type is None:
        return {}
    if id(merge_type) in NAMES:
        return NAMES[id(merge_type)]
    found: dict[str, Any] = {"default": merge_type.default} if merge_type.default is not None else {}
    if merge_type.scalar:
        found["scalar"] = merge_type.scalar
    if merge_type.list is not None:
        listed = merge_type.list
        relation = "associative" if listed.associative else "atomic"
        found["list"] = {"elementType": described(listed.element, levels - 1), "elementRelationship": relation, "keys": list(listed.keys)}
    if merge_type.map is not None:
        mapped = merge_type.map
        fields = {name: described(field, levels - 1) for name, (_, field) in sorted(mapped.fields.items())} if levels > 0 else "..."
        found["map"] = {"fields": fields, "elementType": described(mapped.element, levels - 1), "atomic": mapped.atomic}
    return found


@pytest.mark.parametrize("case", CASES["schemas"])
def test_types_of_schemas(case: dict[str, Any]) -> None:
    """Compare with the reference's types of a CRD with the schema."""
    schema = Structural(case["schema"]) if case["schema"] is not None else None

    assert described(from_schema(schema, preserve=case["preserve"])) == case["type"]


@pytest.mark.parametrize("kind", BUILT_IN)
def test_types_of_built_in_kinds(kind: str) -> None:
    """Compare with the reference's types of its OpenAPI document."""
    assert described(from_go_type(BUILT_IN[kind]), 6) == CASES["builtin"][kind]
