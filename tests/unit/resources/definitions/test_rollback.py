"""The way back to an earlier state of a definition."""

import json
from typing import Any

import pytest

from apiext.resources.definitions import rollback
from apiext.storage.stored_bytes.version_counts import StoredCounts
from tests.support.builders.crds import crd, version


def _crd(storage: str, *names: str, stored: tuple[str, ...] = (), unserved: tuple[str, ...] = ()) -> dict[str, Any]:
    versions = [version(name, storage=name == storage, served=name not in unserved) for name in names]
    return crd("widgets", *versions) | {"status": {"storedVersions": list(stored)}}


def _steps(existing: dict[str, Any], wanted: dict[str, Any], **counts: int) -> list[str]:
    return rollback.steps(existing, wanted, StoredCounts(counts, 7), migrates=False)


def _patch(step: str) -> Any:
    return json.loads(step[step.index("'") + 1 : -1])


def test_flips_migrates_and_prunes() -> None:
    """Lead from the later state to the earlier one: storage version, objects, storedVersions."""
    flip, migrate, prune = _steps(_crd("v2", "v1", "v2", stored=("v1", "v2")), _crd("v1", "v1"), v1=3, v2=12)

    assert flip.startswith("make v1 the storage version: kubectl patch crd widgets.example.com --type=json -p '")
    assert _patch(flip) == [
        {"op": "replace", "path": "/spec/versions/0/storage", "value": True},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": False},
    ]
    assert migrate == ("store the objects in v1 (12 of v2): kubectl get widgets.v1.example.com -A -o json | kubectl replace -f -")
    assert prune.startswith("remove v2 from status.storedVersions: kubectl patch crd widgets.example.com --subresource=status --type=merge")
    assert _patch(prune) == {"status": {"storedVersions": ["v1"]}}


def test_skips_what_is_done() -> None:
    """Name only the steps that are left."""
    existing, wanted = _crd("v1", "v1", "v2", stored=("v1", "v2")), _crd("v1", "v1")

    assert [step.partition(" ")[0] for step in _steps(existing, wanted, v2=1)] == ["store", "remove"]
    assert [step.partition(" ")[0] for step in _steps(existing, wanted, v1=5)] == ["remove"]
    assert _steps(_crd("v1", "v1", "v2", stored=("v1",)), wanted, v1=5) == []


def test_migrates_on_the_server() -> None:
    """Leave the migration to the server where it has StorageVersionMigrations."""
    existing, counts = _crd("v1", "v1", "v2", stored=("v1", "v2")), StoredCounts({"v2": 1}, 7)
    migrate, _ = rollback.steps(existing, _crd("v1", "v1"), counts, migrates=True)

    assert json.loads(migrate.split("'")[1])["spec"] == {"resource": {"group": "example.com", "resource": "widgets"}}
    assert migrate.endswith("' | kubectl create -f -")


def test_serves_the_target() -> None:
    """Serve the version again in which the objects are to be written."""
    flip, _ = _steps(_crd("v2", "v1", "v2", stored=("v2",), unserved=("v1",)), _crd("v1", "v1"))

    assert {"op": "replace", "path": "/spec/versions/0/served", "value": True} in _patch(flip)


def test_adds_a_version_that_was_dropped() -> None:
    """Ask for a version that the definition does not have any more."""
    add, _ = _steps(_crd("v2", "v2", stored=("v2",)), _crd("v1", "v1"))

    assert add == "make v1 the storage version: add v1 to spec.versions beside v2, with storage: true there only"


def test_names_unreadable_objects() -> None:
    """Ask to rescue objects whose version is unknown."""
    found = _steps(_crd("v1", "v1", "v2", stored=("v1", "v2")), _crd("v1", "v1"), **{"": 2})

    assert found[0] == "repair or delete the objects that cannot be read (2): apiext rescue list widgets.example.com"


@pytest.mark.parametrize("wanted", [_crd("", "v1"), _crd("v2", "v1", "v2")])
def test_has_no_steps_for_other_problems(wanted: dict[str, Any]) -> None:
    """Return nothing for a definition that is invalid in itself, or not blocked by stored versions."""
    assert _steps(_crd("v2", "v1", "v2", stored=("v1", "v2")), wanted) == []
