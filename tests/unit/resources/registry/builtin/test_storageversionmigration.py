"""Strategies and codec of StorageVersionMigrations."""

from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.registry.builtin.storageversion import (
    STORAGE_VERSION_MIGRATION_KIND,
    StorageVersionMigrationStatusStrategy,
    StorageVersionMigrationStrategy,
)
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()


def migration(resource: str = "widgets", group: str = "example.com", **status: Any) -> dict[str, Any]:
    """Return a migration in its typed form."""
    return {
        "kind": "StorageVersionMigration",
        "apiVersion": "storagemigration.k8s.io/v1",
        "metadata": {"name": "m", "uid": "u", "resourceVersion": "7"},
        "spec": {"resource": {"group": group, "resource": resource}},
        "status": status,
    }


def condition(name: str, status: str = "True") -> dict[str, Any]:
    """Return a valid condition."""
    return {"type": name, "status": status, "lastTransitionTime": "2001-01-01T00:00:00Z", "reason": "R", "message": ""}


@pytest.mark.parametrize(
    "resource, group, path",
    [
        ("widgets", "example.com", None),
        ("namespaces", "", None),
        ("", "", "spec.resource.resource"),
        ("a.b", "", "spec.resource.resource"),
        ("widgets/status", "", "spec.resource.resource"),
        ("widgets", "A_B", "spec.resource.group"),
    ],
)
def test_validates_the_resource(resource: str, group: str, path: str | None) -> None:
    """Require a DNS label as resource, and a DNS name as group if there is one."""
    errors = StorageVersionMigrationStrategy().validate(CONTEXT, migration(resource, group))

    assert [error.field for error in errors] == ([path] if path else [])


def test_the_spec_is_immutable() -> None:
    """Reject an update of the spec; the message shows the spec as the reference's internal type."""
    (error,) = StorageVersionMigrationStrategy().validate_update(CONTEXT, migration("gadgets"), migration(), [])

    assert str(error) == 'spec: Invalid value: {"Resource":{"group":"example.com","resource":"gadgets"}}: field is immutable'


def test_clients_do_not_write_the_status() -> None:
    """Drop the status of a create, and keep the old one in an update."""
    strategy = StorageVersionMigrationStrategy()
    created, updated = migration(resourceVersion="5"), migration(resourceVersion="5")

    strategy.prepare_for_create(CONTEXT, created)
    strategy.prepare_for_update(CONTEXT, updated, migration(resourceVersion="6"))

    assert created["status"] == {}
    assert updated["status"] == {"resourceVersion": "6"}


def test_status_keeps_the_rest() -> None:
    """Keep spec, labels and finalizers in an update of the status."""
    old, new = migration(), migration("gadgets", resourceVersion="5")
    old["metadata"] |= {"labels": {"a": "b"}, "finalizers": ["x.y/z"]}
    new["metadata"] |= {"labels": {"c": "d"}, "annotations": {"e": "f"}}

    StorageVersionMigrationStatusStrategy().prepare_for_update(CONTEXT, new, old)

    assert new == old | {"status": {"resourceVersion": "5"}}


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ({}, {"resourceVersion": "5"}, None),
        ({}, {"resourceVersion": "05"}, "resource version is not well formed: 05"),
        ({"resourceVersion": "5"}, {"resourceVersion": "6"}, "field is immutable"),
        ({"resourceVersion": "5"}, {}, "field is immutable"),
        ({}, {"conditions": [condition("Running", "Maybe")]}, "supported values"),
        ({}, {"conditions": [condition("Succeeded"), condition("Failed")]}, "cannot be true at the same time"),
        ({"conditions": [condition("Succeeded")]}, {}, "Success condition cannot be set to false once it is true"),
        ({"conditions": [condition("Failed")]}, {"conditions": [condition("Failed", "False")]}, "Failed condition cannot be set to false"),
    ],
)
def test_validates_the_status(old: dict[str, Any], new: dict[str, Any], expected: str | None) -> None:
    """Reject a malformed status, and one that takes back a revision or a result."""
    errors = StorageVersionMigrationStatusStrategy().validate_update(CONTEXT, migration(**new), migration(**old), [])

    assert [expected in str(error) for error in errors if expected] == ([True] if expected else [])
    assert len(errors) == bool(expected)


def test_stores_the_version_of_the_reference() -> None:
    """Store v1beta1, and read it in JSON and in Protobuf as v1."""
    codec, obj = STORAGE_VERSION_MIGRATION_KIND.codec(), migration(conditions=[condition("Running")])

    stored = codec.encode(obj).data
    raw = message_of(STORAGE_VERSION_MIGRATION_KIND.struct).write(obj)
    read = codec.decode(kinds.dumps("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", raw))

    assert json_codec.loads(stored)["apiVersion"] == "storagemigration.k8s.io/v1beta1"
    assert codec.decode(stored)["apiVersion"] == obj["apiVersion"]
    assert {**read, "metadata": None} == {**obj, "metadata": None}
