"""What can be dropped next, with commands."""

import json
import shlex
from typing import Any, Final

import pytest

from apiext.resources.definitions.definition import Definition
from apiext.server.version_map.entries import MigrationWay
from apiext.server.version_map.next_steps import next_steps
from apiext.storage.stored_bytes.version_counts import StoredCounts
from tests.support.builders.crds import parsed, stored_crd, version

REQUESTED: Final = MigrationWay.REQUESTED


def _definition(*versions: dict[str, Any], stored: list[str], **more: Any) -> Definition:
    crd = stored_crd(versions=versions, **more)
    crd["status"]["storedVersions"] = stored
    return parsed(crd)


def _steps(definition: Definition, counts: dict[str, int], way: MigrationWay = REQUESTED) -> list[tuple[str, str]]:
    return [(step["does"], step["command"]) for step in next_steps(definition, StoredCounts(counts, 1), way)]


def test_migrates_before_it_drops() -> None:
    """Name the migration while objects are stored in an old version, with a command that kubectl takes."""
    definition = _definition(version("v1"), version("v2", storage=True), stored=["v1", "v2"])

    ((does, command),) = _steps(definition, {"v1": 1, "v2": 3})
    assert does == "Store 1 object in v2"
    assert command.startswith("kubectl create -f - <<'EOF'\n")
    migration = json.loads(command.splitlines()[1])
    assert (migration["kind"], migration["spec"]) == (
        "StorageVersionMigration",
        {"resource": {"group": "example.com", "resource": "widgets"}},
    )


@pytest.mark.parametrize(
    "way, says", [(MigrationWay.AUTOMATIC, "does it by itself"), (MigrationWay.NONE, "start apiext with --migrate=auto")]
)
def test_other_ways_of_migration(way: MigrationWay, says: str) -> None:
    """Say how objects are migrated where nobody can create a StorageVersionMigration."""
    definition = _definition(version("v1"), version("v2", storage=True), stored=["v1", "v2"])

    ((does, command),) = _steps(definition, {"v1": 7}, way)
    assert does.startswith("Store 7 objects in v2: ")
    assert says in does
    assert command == ""


def test_drops_an_entry_without_objects() -> None:
    """Drop entries of storedVersions without objects, but not while objects of unknown version exist."""
    definition = _definition(version("v1"), version("v2", storage=True), stored=["v0", "v1", "v2"])

    ((does, command),) = _steps(definition, {"v2": 3})
    assert does == "Drop v0, v1 from status.storedVersions"
    words = shlex.split(command)
    assert words[:4] == ["kubectl", "patch", "customresourcedefinition", "widgets.example.com"]
    assert "--subresource=status" in words
    assert json.loads(words[-1]) == {"status": {"storedVersions": ["v2"]}}
    ((does, command),) = _steps(definition, {"v2": 3, "": 1})
    assert (does, command) == ("Repair 1 object of no current version", "apiext rescue list widgets.example.com")


def test_drops_a_version_that_nobody_needs() -> None:
    """Drop a version from the spec once it is neither served nor stored; the patch fails if the list has changed."""
    versions = version("v1alpha1", served=False), version("v1", storage=True)

    ((does, command),) = _steps(_definition(*versions, stored=["v1"]), {"v1": 3})
    assert does == "Drop v1alpha1 from spec.versions"
    assert json.loads(shlex.split(command)[-1]) == [
        {"op": "test", "path": "/spec/versions/0/name", "value": "v1alpha1"},
        {"op": "remove", "path": "/spec/versions/0"},
    ]
    assert [does for does, _ in _steps(_definition(*versions, stored=["v1alpha1", "v1"]), {"v1": 3})] == [
        "Drop v1alpha1 from status.storedVersions"
    ]


def test_stops_serving_a_deprecated_version() -> None:
    """Suggest the end of a deprecated version last, and only if another one is served."""
    deprecated = version("v1", deprecated=True)

    ((does, command),) = _steps(_definition(deprecated, version("v2", storage=True), stored=["v2"]), {"v2": 3})
    assert does == "Stop serving v1, once no client uses it"
    assert json.loads(shlex.split(command)[-1])[1] == {"op": "replace", "path": "/spec/versions/0/served", "value": False}
    assert _steps(_definition(deprecated | {"storage": True}, stored=["v1"]), {"v1": 3}) == []


def test_nothing_for_objects_of_another_server() -> None:
    """Suggest nothing for a definition that is not established: its objects are not here."""
    versions = version("v1", served=False), version("v2", storage=True)

    assert _steps(_definition(*versions, stored=["v2"], conditions={"Established": "False"}), {}) == []


def test_a_hostile_entry_stays_a_word() -> None:
    """Quote what may hold any text: an entry of storedVersions is no command."""
    definition = _definition(version("v2", storage=True), stored=["'; rm -rf ~ #", "$(reboot)", "v2"])

    (_, command), _ = _steps(definition, {"v2": 1, "'; rm -rf ~ #": 5})
    assert shlex.split(command)[-1] == "widgets.example.com"
    ((_, command),) = _steps(definition, {"v2": 1})
    assert json.loads(shlex.split(command)[-1]) == {"status": {"storedVersions": ["v2"]}}
