"""Changes of a version outside its schema."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.definition_comparison import compare_versions, version_added, version_removed
from tests.support.builders.crds import crd, definition, version

SCALE: Final = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
SELECTOR: Final = {"labelSelectorPath": ".status.selector"}
NAME: Final = {"name": "Name", "type": "string", "jsonPath": ".spec.name"}
SIZE: Final = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}


COUNT: Final = {"type": "integer", "format": "int32", "minimum": 0}
TEXT: Final = {"type": "string"}


def with_fields(replicas: dict[str, Any], selector: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the fields of a scale."""
    status = {"type": "object", "properties": {"selector": selector}}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"replicas": replicas}}, "status": status}}


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rules and paths of the changes of a version with these members."""
    versions = (definition(crd("widgets", version("v1", storage=True, **members))).versions[0] for members in (old, new))
    return sorted((change.rule, change.path) for change in compare_versions(*versions))


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        ({"served": False}, {}, "versionServed", "versionUnserved"),
        ({}, {"deprecated": True}, "versionDeprecated", "versionUndeprecated"),
        ({"deprecated": True}, {"deprecated": True, "deprecationWarning": "x"}, *["deprecationWarningChanged"] * 2),
        ({}, {"deprecated": True, "deprecationWarning": "x"}, "versionDeprecated", "versionUndeprecated"),
        ({}, {"subresources": {"status": {}}}, "statusSubresourceAdded", "statusSubresourceRemoved"),
        ({}, {"subresources": {"scale": SCALE}}, "scaleSubresourceAdded", "scaleSubresourceRemoved"),
        ({"scale": SCALE}, {"scale": SCALE | {"specReplicasPath": ".spec.size"}}, *["scaleReplicasPathChanged"] * 2),
        ({"scale": SCALE}, {"scale": SCALE | {"statusReplicasPath": ".status.size"}}, *["scaleReplicasPathChanged"] * 2),
        ({"scale": SCALE}, {"scale": SCALE | SELECTOR}, "scaleSelectorPathAdded", "scaleSelectorPathRemoved"),
        ({"scale": SCALE | SELECTOR}, {"scale": SCALE | {"labelSelectorPath": ".status.x"}}, *["scaleSelectorPathChanged"] * 2),
        ({"columns": [NAME]}, {"columns": [NAME, SIZE]}, "printerColumnAdded", "printerColumnRemoved"),
        ({"columns": [NAME]}, {"columns": [NAME | {"priority": 1}]}, *["printerColumnChanged"] * 2),
        ({"columns": [NAME, SIZE]}, {"columns": [SIZE, NAME]}, *["printerColumnsReordered"] * 2),
    ],
)
def test_both_directions(old: dict[str, Any], new: dict[str, Any], there: str, back: str) -> None:
    """Find the rule of a change, and that of the opposite change."""
    before, after = _members(old), _members(new)

    assert changes(before, after) == [(there, "")]
    assert changes(after, before) == [(back, "")]


def _members(short: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a version; `scale` and `columns` are short forms."""
    members = {"schema": with_fields(COUNT, TEXT)} | {key: value for key, value in short.items() if key not in ("scale", "columns")}
    if "scale" in short:
        members["subresources"] = {"scale": short["scale"]}
    if "columns" in short:
        members["additionalPrinterColumns"] = short["columns"]
    return members


REFUSES: Final = ("scaleRefusesValues", "spec.replicas")
ADDED: Final = ("scaleSubresourceAdded", "")


@pytest.mark.parametrize(
    "replicas, selector, expected",
    [
        (COUNT, TEXT, []),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 1}, TEXT, []),
        ({"type": "integer", "minimum": 0}, TEXT, [REFUSES]),
        ({"type": "integer", "format": "int32"}, TEXT, [REFUSES]),
        ({"type": "integer", "minimum": -1, "exclusiveMinimum": True, "format": "int32"}, TEXT, []),
        ({"type": "integer", "minimum": -1, "format": "int32"}, TEXT, [REFUSES]),
        ({"x-kubernetes-int-or-string": True}, TEXT, [REFUSES]),
        ({"type": "number", "minimum": 0}, TEXT, [REFUSES]),
        ({"x-kubernetes-preserve-unknown-fields": True}, TEXT, [REFUSES]),
        (TEXT, TEXT, [REFUSES]),
        (COUNT, {"type": "object"}, [("scaleRefusesValues", "status.selector")]),
        (COUNT, {"x-kubernetes-preserve-unknown-fields": True}, [("scaleRefusesValues", "status.selector")]),
    ],
)
def test_values_that_a_scale_refuses(replicas: dict[str, Any], selector: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """Say of which fields the server will refuse values that objects may have, once a version has a scale."""
    without = {"schema": with_fields(replicas, selector)}
    with_scale = without | {"subresources": {"scale": SCALE | SELECTOR}}

    assert changes(without, with_scale) == sorted([*expected, ADDED])
    assert changes(with_scale, with_scale) == []


def test_fields_of_a_scale_without_a_schema() -> None:
    """Find values of maps and unknown fields, too; what the server drops, no object has."""
    scale = {"subresources": {"scale": SCALE}}
    fields = {"spec": {"type": "object", "additionalProperties": TEXT}, "status": {"type": "object"}}
    kept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

    assert changes({"schema": {"type": "object", "properties": fields}}, {"schema": {"type": "object", "properties": fields}} | scale) == [
        REFUSES,
        ADDED,
    ]
    assert changes({"schema": kept}, {"schema": kept} | scale) == [REFUSES, ("scaleRefusesValues", "status.replicas"), ADDED]


def test_selectable_fields() -> None:
    """Name the field of an added or removed selectable field."""
    selectable = {"selectableFields": [{"jsonPath": ".spec.name"}]}

    assert changes({}, selectable) == [("selectableFieldAdded", "spec.name")]
    assert changes(selectable, {}) == [("selectableFieldRemoved", "spec.name")]


def test_the_age_column_goes() -> None:
    """Report that the Age column goes when a version declares its first column: only versions without columns have it."""
    assert changes({}, {"additionalPrinterColumns": [NAME]}) == [("printerColumnAdded", ""), ("printerColumnRemoved", "")]


def test_the_message_of_a_column() -> None:
    """Write which members of a column changed."""
    versions = (
        definition(crd("widgets", version("v1", storage=True, additionalPrinterColumns=[column]))).versions[0]
        for column in (NAME, NAME | {"priority": 1, "jsonPath": ".spec.other"})
    )

    (found,) = compare_versions(*versions)

    assert found.message == "JSON path and priority of column Name changed"


@pytest.mark.parametrize("served", [True, False])
def test_versions_that_come_and_go(*, served: bool) -> None:
    """Tell served versions from others."""
    only = definition(crd("widgets", version("v1", storage=True, served=served))).versions[0]

    assert version_added(only).rule == ("versionAdded" if served else "unservedVersionAdded")
    assert version_removed(only).rule == ("versionRemoved" if served else "unservedVersionRemoved")
