"""Validation of metadata."""

from typing import Any

import pytest

from apiext.base.meta import names
from apiext.base.meta.objectmeta import validation

VALID: dict[str, Any] = {
    "name": "a",
    "namespace": "default",
    "uid": "u",
    "resourceVersion": "5",
    "creationTimestamp": "2020-01-01T00:00:00Z",
}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}


def _texts(metadata: dict[str, Any], *, namespaced: bool = True) -> list[str]:
    errors = validation.validate(metadata, namespaced=namespaced, name_rule=names.name_is_dns_subdomain)
    return [str(error) for error in errors]


def _update(**changes: Any) -> list[str]:
    new = {name: member for name, member in {**VALID, **changes}.items() if member is not None}
    return [str(error) for error in validation.validate_update(new, VALID)]


def test_accepts_ordinary_metadata() -> None:
    """Return no error for ordinary metadata."""
    assert _texts(VALID) == []
    assert _update(labels={"a": "b"}, finalizers=["a/b"]) == []


@pytest.mark.parametrize(
    "metadata, namespaced, text",
    [
        ({"namespace": "n"}, True, "metadata.name: Required value: name or generateName is required"),
        ({"name": "a"}, True, "metadata.namespace: Required value"),
        ({"name": "a", "namespace": "x"}, False, "metadata.namespace: Forbidden: not allowed on this type"),
        ({"name": "a", "generation": -1}, False, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        ({"name": "a", "labels": {"a": "x" * 64}}, False, f'metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
        ({"name": "a", "annotations": {"A": "x" * 262144}}, False, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        (
            {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
            False,
            (
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                "finalizer orphan and foregroundDeletion cannot be both set"
            ),
        ),
        (
            {"name": "a", "ownerReferences": [{**OWNER, "kind": "Event"}]},
            False,
            (
                'metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"1"}: '
                "/v1, Kind=Event is disallowed from being an owner"
            ),
        ),
        (
            {"name": "a", "ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]},
            False,
            'metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>',
        ),
        (
            {"name": "a", "ownerReferences": [{**OWNER, "uid": ""}]},
            False,
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ),
        ({"name": "a", "managedFields": [{}]}, False, "metadata.managedFields[0].operation: Required value: must not be empty"),
        (
            {"name": "a", "managedFields": [{"operation": "Update", "fieldsType": "X"}]},
            False,
            'metadata.managedFields[0].fieldsType: Invalid value: "X": must be `FieldsV1`',
        ),
        (
            {"name": "a", "managedFields": [{"operation": "Update", "manager": "a\a"}]},
            False,
            'metadata.managedFields[0].manager: Invalid value: "a\\a": invalid character U+0007 (at position 1)',
        ),
    ],
)
def test_returns_the_error_of_each_rule(metadata: dict[str, Any], namespaced: bool, text: str) -> None:  # noqa: FBT001
    """Return the error of each rule that is violated alone."""
    assert _texts(metadata, namespaced=namespaced) == [text]


def test_limits_errors_about_controllers() -> None:
    """Limit the errors about several controllers, since each shows all owners."""
    owners = [{**OWNER, "kind": f"K{number}", "controller": True} for number in range(2000)]

    assert 1 < len(_texts({"name": "a", "ownerReferences": owners}, namespaced=False)) < 100
    assert _texts({"name": "a", "ownerReferences": [owner | {"uid": "u" * 3_000_000} for owner in owners[:2]]}, namespaced=False)


def test_shows_owners_as_go_does() -> None:
    """Show owners with the fields in the order of the reference's struct."""
    owners = [{**OWNER, "controller": True}, {**OWNER, "kind": "Set", "controller": True}]

    assert _texts({"name": "a", "ownerReferences": owners}, namespaced=False) == [
        (
            'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1","controller":true},'
            '{"apiVersion":"v1","kind":"Set","name":"p","uid":"1","controller":true}]: '
            'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Set/p'
        )
    ]


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"resourceVersion": None}, 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ({"name": "b"}, 'metadata.name: Invalid value: "b": field is immutable'),
        ({"uid": "v"}, 'metadata.uid: Invalid value: "v": field is immutable'),
        ({"creationTimestamp": None}, "metadata.creationTimestamp: Invalid value: null: field is immutable"),
        (
            {"deletionTimestamp": "2020-01-01T00:00:00Z"},
            'metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
        ),
        ({"deletionGracePeriodSeconds": 4}, "metadata.deletionGracePeriodSeconds: Invalid value: 4: field is immutable"),
    ],
)
def test_rejects_changes_of_immutable_fields(changes: dict[str, Any], text: str) -> None:
    """Name an immutable field with its new value."""
    assert _update(**changes) == [text]


def test_rejects_lower_generations() -> None:
    """Reject a lower generation."""
    errors = validation.validate_update({**VALID, "generation": 1}, {**VALID, "generation": 2})

    assert [str(error) for error in errors] == ["metadata.generation: Invalid value: 1: must not be decremented"]


def test_rejects_new_finalizers_while_deleting() -> None:
    """List new finalizers in order, as Go prints a slice."""
    old = {**VALID, "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["a/b"]}
    errors = validation.validate_update({**old, "finalizers": ["zz/new", "a/b", "aa/new"]}, old)

    assert [str(error) for error in errors] == [
        (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"aa/new", "zz/new"}'
        )
    ]
