"""Rules of what the server keeps of an object."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import compare_schemas

Props = dict[str, Any]
CLOSED: Final[Props] = {"type": "object"}
MAP: Final[Props] = {"type": "object", "additionalProperties": {"type": "string"}}
OPEN: Final[Props] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def changes(old: Props, new: Props) -> list[tuple[str, str]]:
    """Return the rules and paths of the changes of a field `a`."""
    found = compare_schemas({"properties": {"a": old}}, {"properties": {"a": new}})
    return sorted((change.rule, change.path) for change in found)


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        (CLOSED, MAP, "mapValuesAdded", "mapValuesRemoved"),
        (CLOSED, OPEN, "unknownFieldsPreserved", "unknownFieldsPruned"),
        (OPEN, MAP, "unknownFieldsSpecified", "unknownFieldsUnspecified"),
        (MAP, MAP | OPEN, None, None),
        (CLOSED, CLOSED | {"additionalProperties": False}, None, None),
        (CLOSED | {"additionalProperties": True}, CLOSED | {"additionalProperties": {}}, None, None),
        ({"type": "array", "items": CLOSED}, {"type": "array", "items": OPEN}, "unknownFieldsPreserved", "unknownFieldsPruned"),
    ],
)
def test_other_fields(old: Props, new: Props, there: str | None, back: str | None) -> None:
    """Find what happens to fields that properties do not name."""
    path = "a[]" if "items" in old else "a"

    assert changes(old, new) == ([(there, path)] if there else [])
    assert changes(new, old) == ([(back, path)] if back else [])


def test_values_of_any_type_that_become_scalars() -> None:
    """Report that stored objects lose their fields if a value of any type becomes a scalar, but nothing about scalars alone."""
    anything = {"x-kubernetes-preserve-unknown-fields": True}

    assert changes(anything, {"type": "string"}) == [("typeNarrowed", "a"), ("unknownFieldsPruned", "a")]
    assert changes({"type": "string"}, anything | {"type": "string"}) == []


@pytest.mark.parametrize(
    "other, added, removed",
    [(CLOSED, "fieldAdded", "fieldRemoved"), (MAP, "fieldSpecified", "fieldUnspecified"), (OPEN, "fieldSpecified", "fieldUnspecified")],
)
def test_fields_beside_others(other: Props, added: str, removed: str) -> None:
    """Tell a field that was dropped before from one that was kept as a map's value or unchecked."""
    with_field = other | {"properties": {"b": {"type": "string"}}}

    assert changes(other, with_field) == [(added, "a.b")]
    assert changes(with_field, other) == [(removed, "a.b")]
