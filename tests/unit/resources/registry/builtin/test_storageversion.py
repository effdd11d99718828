"""Strategies of StorageVersions."""

from typing import Any

import pytest

from apiext.resources.registry.builtin.storageversion import StorageVersionStatusStrategy, StorageVersionStrategy
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()
SERVER = {"apiServerID": "a", "encodingVersion": "example.com/v1", "decodableVersions": ["example.com/v1", "v2"]}


def storage_version(name: str = "example.com.widgets", **status: Any) -> dict[str, Any]:
    """Return a StorageVersion in its typed form."""
    return {
        "kind": "StorageVersion",
        "apiVersion": "internal.apiserver.k8s.io/v1alpha1",
        "metadata": {"name": name},
        "spec": {},
        "status": status,
    }


def condition(**members: str) -> dict[str, Any]:
    """Return a valid condition; `members` are replaced."""
    return {"type": "A", "status": "True", "lastTransitionTime": None, "reason": "R", "message": "m"} | members


@pytest.mark.parametrize(
    "name, problems",
    [
        ("core.pods", []),
        ("example.com.widgets", []),
        ("pods", ["name must be in the form of <group>.<resource>"]),
        (".pods", ["the group segment "]),
        ("example.com.Widgets", ["the resource segment "]),
    ],
)
def test_names_have_a_group_and_a_resource(name: str, problems: list[str]) -> None:
    """Split the name at its last dot."""
    errors = StorageVersionStrategy().validate(CONTEXT, storage_version(name))

    assert [error.field for error in errors] == ["metadata.name"] * len(problems)
    assert all(problem in error.detail for error, problem in zip(errors, problems, strict=True))


@pytest.mark.parametrize(
    "status, paths",
    [
        ({"storageVersions": [SERVER], "commonEncodingVersion": "example.com/v1"}, []),
        ({}, []),
        ({"storageVersions": [SERVER]}, ["status.commonEncodingVersion"]),
        ({"commonEncodingVersion": "v1"}, ["status.commonEncodingVersion"]),
        ({"storageVersions": [SERVER], "commonEncodingVersion": "v2"}, ["status.commonEncodingVersion"]),
        (
            {"storageVersions": [SERVER, SERVER], "commonEncodingVersion": "example.com/v1"},
            ["status.storageVersions[1].apiServerID"],
        ),
        (
            {"storageVersions": [SERVER | {"servedVersions": ["v3"]}], "commonEncodingVersion": "example.com/v1"},
            ["status.storageVersions[0].servedVersions[0]"],
        ),
        (
            {"storageVersions": [{"apiServerID": "A", "encodingVersion": "a/b/c"}], "commonEncodingVersion": "a/b/c"},
            [f"status.storageVersions[0].{name}" for name in ("apiServerID", "encodingVersion", "decodableVersions")],
        ),
        ({"conditions": [condition(), condition(status="?", reason="", message="")]}, [
            "status[1].type", "status[1].status", "status[1].reason", "status[1].message",
        ]),
    ],
)  # fmt: skip
def test_validates_the_status(status: dict[str, Any], paths: list[str]) -> None:
    """Check the servers' entries, the common version and the conditions; the paths of conditions are those of the reference."""
    errors = StorageVersionStatusStrategy().validate_update(CONTEXT, storage_version(**status), storage_version(), [])

    assert [error.field for error in errors] == paths


@pytest.mark.parametrize(
    "api_version, problem",
    [("/v1", "group part: must be non-empty"), ("A/v1", "group part: a lowercase"), ("g/", "version part: must be non-empty")],
)
def test_explains_api_versions(api_version: str, problem: str) -> None:
    """Name the part of an apiVersion that is malformed."""
    server = {"apiServerID": "a", "encodingVersion": api_version, "decodableVersions": [api_version]}
    errors = StorageVersionStatusStrategy().validate_update(
        CONTEXT, storage_version(storageVersions=[server], commonEncodingVersion=api_version), storage_version(), []
    )

    assert [error.detail.startswith(problem) for error in errors] == [True, True]


def test_keeps_what_others_write() -> None:
    """Let clients write metadata, and the status subresource nothing else but the status."""
    old = storage_version(storageVersions=[SERVER])
    old["metadata"]["labels"] = {"a": "b"}
    main, status = storage_version(), storage_version(conditions=[])
    StorageVersionStrategy().prepare_for_update(CONTEXT, main, old)
    StorageVersionStatusStrategy().prepare_for_update(CONTEXT, status, old)

    assert (main["status"], main["metadata"]) == (old["status"], {"name": "example.com.widgets"})
    assert (status["status"], status["metadata"]) == ({"conditions": []}, old["metadata"])
