"""Tests of apply conflicts."""

from apiext.resources.managedfields import field_set
from apiext.resources.managedfields.managers import APPLY, UPDATE, Manager
from apiext.resources.managedfields.updater import ApplyConflictError


def test_one_conflict() -> None:
    """Name manager, subresource and version, and the field."""
    conflict = ApplyConflictError({Manager.of("foo", UPDATE, "v1", "scale"): field_set.from_paths(("f:spec", "f:replicas"))})

    assert conflict.status().status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "foo" with subresource "scale" using v1: .spec.replicas',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "foo" with subresource "scale" using v1',
                    "field": ".spec.replicas",
                }
            ]
        },
        "code": 409,
    }


def test_several_conflicts() -> None:
    """List the fields by manager, in order; numbers in paths print as float64."""
    conflict = ApplyConflictError(
        {
            Manager.of("foo", UPDATE, "v1"): field_set.from_paths(
                ("f:spec", "f:ports", 'k:{"port":8080}', "f:name"),
                ("f:spec", "f:ports", 'k:{"port":80000000}', "f:name"),
                ("f:spec", "f:b"),
            ),
            Manager.of("bar", APPLY, "v1"): field_set.from_paths(("f:metadata", "f:labels", "f:app"), ("f:spec", "f:set", 'v:"x"')),
        }
    ).status()

    assert conflict.message == (
        'Apply failed with 5 conflicts: conflicts with "bar":\n- .metadata.labels.app\n- .spec.set[="x"]\n'
        'conflicts with "foo" using v1:\n- .spec.b\n- .spec.ports[port=8080].name\n- .spec.ports[port=8e+07].name'
    )
    assert [cause["field"] for cause in (conflict.details or {})["causes"]] == [
        ".metadata.labels.app",
        '.spec.set[="x"]',
        ".spec.b",
        ".spec.ports[port=8080].name",
        ".spec.ports[port=8e+07].name",
    ]
