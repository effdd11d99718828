"""Order and conditions of migrations."""

from typing import Any

import pytest

from apiext.api.migration import migration_state
from apiext.api.migration.migration_state import MigrationProgress


def migration(name: str, *conditions: str, created: str = "2001-01-01T00:00:00Z") -> dict[str, Any]:
    """Return a migration with conditions that are true."""
    found = [{"type": one, "status": "True", "lastTransitionTime": created, "reason": "R", "message": ""} for one in conditions]
    metadata = {"name": name, "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"resource": {"group": "g", "resource": "r"}}, "status": {"conditions": found}}


@pytest.mark.parametrize(
    "migrations, finished, following",
    [
        ([], [], None),
        ([migration("b"), migration("a")], [], "a"),
        ([migration("a", created="2002-01-01T00:00:00Z"), migration("b")], [], "b"),
        ([migration("a"), migration("b", "Running")], [], None),
        ([migration("a"), migration("b", "Running", "Succeeded")], ["b"], "a"),
        ([migration("a", "Failed"), migration("b", "Succeeded")], [], None),
        ([migration("a", "Running", "Failed"), migration("b", "Running"), migration("c")], ["a"], None),
    ],
)
def test_next_of(migrations: list[dict[str, Any]], finished: list[str], following: str | None) -> None:
    """Start the oldest migration if none runs; report finished ones that still count as running."""
    ended, one = migration_state.next_of(migrations)

    assert [each["metadata"]["name"] for each in ended] == finished
    assert (one["metadata"]["name"] if one else None) == following


@pytest.mark.parametrize(
    "progress, message",
    [
        (MigrationProgress(0, 0), "The migration is running"),
        (MigrationProgress(0, 4), "The migration is running, 4 objects verified migrated"),
        (MigrationProgress(1, 4), "The migration is running, 1/4 objects not yet migrated"),
    ],
)
def test_messages(progress: MigrationProgress, message: str) -> None:
    """Report the progress in the reference's words."""
    found = migration_state.succeeded(migration("a", "Running"), progress)["status"]["conditions"]

    assert [(one["type"], one["message"]) for one in found] == [("Running", message), ("Succeeded", "Migration completed")]


def test_changes_are_repeatable() -> None:
    """Change nothing that is recorded already."""
    running = migration("a", "Running")
    with_revision = migration_state.at_revision(running, "5")

    assert migration_state.started(running) is running
    assert with_revision["status"]["resourceVersion"] == "5"
    assert migration_state.at_revision(with_revision, "6") is with_revision
    assert migration_state.ended(migration("a", "Succeeded"))["status"] == migration("a", "Succeeded")["status"]
