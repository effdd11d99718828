"""Managers of scales."""

from typing import Any

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.managedfields.field_set import LEAF, from_paths
from apiext.resources.managedfields.scale import ScaleManagers

REPLICAS: Object = {"f:spec": {"f:replicas": {}}}
MANAGERS = ScaleManagers("g/v1", {"g/v1": from_paths(("f:spec", "f:count")), "g/v2": LEAF})


def _entry(manager: str, version: str, fields: Object, **more: Any) -> Object:
    entry = {"manager": manager, "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return entry | more


PARENT = [_entry("a", "g/v1", {"f:spec": {"f:count": {}, "f:size": {}}}, time="2020-01-01T00:00:00Z"), _entry("b", "g/v2", {"f:spec": {}})]


def test_shows_managers_of_replicas() -> None:
    """Show the managers of the replicas with their paths in a Scale."""
    assert MANAGERS.to_scale(PARENT) == [_entry("a", "autoscaling/v1", REPLICAS, time="2020-01-01T00:00:00Z")]
    owner = _entry("a", "g/v1", {"f:spec": {"f:count": {}}}, operation="Apply")

    assert MANAGERS.to_scale([owner]) == [_entry("a", "autoscaling/v1", REPLICAS, operation="Apply")]


def test_takes_replicas_over() -> None:
    """Move the replicas to the manager of the scale, which has no time; drop managers of unknown versions."""
    scale = [_entry("s", "autoscaling/v1", REPLICAS, subresource="scale", time="2020-01-01T00:00:00Z")]
    gone = _entry("c", "g/v9", REPLICAS)

    assert MANAGERS.to_parent([*PARENT, gone], scale) == [
        _entry("b", "g/v2", {"f:spec": {}}),
        _entry("s", "g/v1", {"f:spec": {"f:count": {}}}, subresource="scale"),
        _entry("a", "g/v1", {"f:spec": {"f:size": {}}}, time="2020-01-01T00:00:00Z"),
    ]


def test_forgets_managers() -> None:
    """Remove managers that owned nothing but replicas that nobody owns now."""
    assert MANAGERS.to_parent([_entry("s", "g/v1", {"f:spec": {"f:count": {}}}, subresource="scale")], None) == []
