"""Migrations on the map."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from apiext.api.migration.migration_state import MigrationProgress, failed, interrupted, started, succeeded
from apiext.base.meta.gvk import GroupResource
from apiext.server.version_map.sources import migrations_by_resource
from tests.support.servers.in_process import InProcess

PATH = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
WIDGETS = GroupResource("example.com", "widgets")


def _migration(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "storagemigration.k8s.io/v1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": "example.com", "resource": "widgets"}},
    }


PROGRESS = MigrationProgress(2, 9)
STATES: Final[dict[str, tuple[Callable[[Any], Any], int | None, int | None]]] = {
    "pending": (lambda one: one, None, None),
    "running": (lambda one: interrupted(started(one), PROGRESS, "try again"), 2, 9),
    "succeeded": (lambda one: succeeded(one, MigrationProgress(0, 9)), 0, 9),
    "failed": (lambda one: failed(one, "2/9 not yet migrated. it broke", None), 2, 9),
}


@pytest.mark.parametrize("state", STATES)
async def test_tells_state_and_progress(server: InProcess, state: str) -> None:
    """Tell the state of a migration, and the objects that are left where its conditions name them."""
    change, left, total = STATES[state]
    created = (await server.ask("POST", PATH, _migration("a"))).json
    answer = await server.ask("PUT", f"{PATH}/a/status", change(created | {"status": created.get("status") or {}}))
    assert answer.status == 200, answer.body

    (found,) = (await migrations_by_resource(server.migrations.scopes[""], None))[WIDGETS]
    assert (found.name, found.state, found.left, found.total) == ("a", state, left, total)


async def test_prefers_the_progress_of_a_run(server: InProcess) -> None:
    """Show the progress of a migration that this server runs."""
    await server.ask("POST", PATH, _migration("a"))

    (found,) = (await migrations_by_resource(server.migrations.scopes[""], lambda _uid: PROGRESS))[WIDGETS]
    assert (found.left, found.total) == (2, 9)


async def test_limits_their_number(server: InProcess) -> None:
    """Show the latest five migrations of a resource."""
    for number in range(7):
        await server.ask("POST", PATH, _migration(f"m{number}"))

    assert len((await migrations_by_resource(server.migrations.scopes[""], None))[WIDGETS]) == 5
