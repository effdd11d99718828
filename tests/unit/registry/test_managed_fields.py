"""managedFields that clients send."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.meta.json_codec import Object
from apiext.registry.managed_fields import carry_managers

SIZE: Object = {"f:spec": {"f:size": {}}}


def _entry(manager: str = "a", **more: Any) -> Object:
    entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": SIZE}
    return {name: member for name, member in (entry | more).items() if member is not None}


HAD = [_entry("had")]


def _carried(sent: Any, had: list[Object] | None = HAD, subresource: str = "") -> Any:
    metadata = {"name": "x"} if sent is None else {"name": "x", "managedFields": sent}
    carry_managers(metadata, {} if had is None else {"managedFields": had}, subresource=subresource)
    return metadata.get("managedFields")


def test_sorts_valid_entries() -> None:
    """Sort valid entries by operation, time, manager, version and subresource."""
    late = _entry("a", time="2022-01-01T00:00:00Z")
    early = _entry("z", time="2020-01-01T00:00:00Z")
    timeless, applied = _entry("y"), _entry("x", operation="Apply")

    assert _carried([late, early, timeless, applied]) == [applied, timeless, early, late]


def test_keeps_one_entry_for_a_manager() -> None:
    """Keep a manager's last entry; managers that apply have one for all versions."""
    other: Object = {"f:spec": {"f:text": {}}}

    assert _carried([_entry(), _entry(fieldsV1=other)]) == [_entry(fieldsV1=other)]
    assert _carried([_entry(), _entry(apiVersion="v2"), _entry(subresource="status")]) == [
        _entry(),
        _entry(subresource="status"),
        _entry(apiVersion="v2"),
    ]
    assert _carried([_entry(operation="Apply"), _entry(operation="Apply", apiVersion="v2")]) == [_entry(operation="Apply", apiVersion="v2")]


@pytest.mark.parametrize("sent", [None, [], [{}, {}], [{}, _entry()], [_entry("a"), _entry("b", operation="Patch")]])
def test_keeps_old_entries(sent: Any) -> None:
    """Keep the old entries if the new ones are missing or one of them is invalid."""
    assert _carried(sent) == HAD


@pytest.mark.parametrize(
    "more",
    [
        {"operation": None},
        {"apiVersion": None},
        {"fieldsType": None},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"spec": {}}},
        {"fieldsV1": {"f": {}}},
        {"fieldsV1": {"f:spec": 1}},
        {"fieldsV1": [1]},
        {"fieldsV1": {"k:{": {}}},
        {"fieldsV1": {"k:1": {}}},
        {"fieldsV1": {"v:": {}}},
        {"fieldsV1": {"i:x": {}}},
        {"fieldsV1": {f"i:{2**63}": {}}},
        {"fieldsV1": {f"i:-{2**63 + 1}": {}}},
        {"fieldsV1": {f"i:{'9' * 30}": {}}},
    ],
)
def test_rejects_invalid_entries(more: Object) -> None:
    """Reject entries with an invalid operation, version, type or field set."""
    assert _carried([_entry(**more)]) == HAD


def test_resets_by_an_empty_entry() -> None:
    """Remove managedFields for one empty entry, and for entries without fields."""
    assert _carried([{}]) is None
    assert _carried([_entry(fieldsV1={}), _entry("b", fieldsV1=None)]) is None


def test_subresources_keep_entries() -> None:
    """Keep the entries in a write to a subresource, even for a reset."""
    assert _carried([_entry()], subresource="status") == HAD
    assert _carried([{}], subresource="status") == HAD
    assert _carried([_entry()], None, subresource="status") is None


@pytest.mark.parametrize(
    "sent, kept",
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"f:b": {}, ".": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({"f:a": {"x:b": 5}}, {"f:a": {}}),
        ({"f:a": {"x:b": {}, "f:c": None}}, {"f:a": {"f:c": {}}}),
        ({f"i:+{'0' * 5000}7": {}, f"i:-{2**63}": {}}, {"i:7": {}, f"i:-{2**63}": {}}),
        ({'k:{"b": 1, "a":"x"}': {}, "v: 1": {}, "i:01": {}}, {'k:{"a":"x","b":1}': {}, "v:1": {}, "i:1": {}}),
    ],
)
def test_shortens_field_sets(sent: Object, kept: Object) -> None:
    """Shorten field sets, and drop elements of unknown kinds."""
    assert _carried([_entry(fieldsV1=sent)]) == [_entry(fieldsV1=kept)]
