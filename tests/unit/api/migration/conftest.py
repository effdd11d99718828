"""A server in the process of the tests that runs migrations."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import pytest

from apiext.api.migration.definition_status import DefinitionStatus
from apiext.api.migration.migration_controller import MigrationController
from apiext.server.composition.store_controllers import ServedResources
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import CRDS, InProcess

MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
DEFINITION: Final = f"{CRDS}/widgets.example.com"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
MERGE: Final = "application/merge-patch+json"
SIZED: Final = {"type": "object", "properties": {"size": {"type": "integer"}}}


def widgets(*, storage: str = "v1", schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a CRD with two versions."""
    versions = [version(name, storage=name == storage, schema=schema or SIZED) for name in ("v1", "v2")]
    return crd("widgets", *versions)


class Migrator:
    """A server with its migration controller."""

    def __init__(self, server: InProcess) -> None:
        self.server = server
        self.leads = True
        self.asked = asyncio.Event()
        """Set when the controller asks whether it leads."""
        resources = ServedResources(server.endpoints, server.catalog, server.cache)
        status = DefinitionStatus(server.definitions.scopes, server.workers, server.stores.count_stored)
        self.controller = MigrationController(server.migrations.scopes, resources, status, server.workers, self._is_leader)

    async def _is_leader(self) -> bool:
        self.asked.set()
        return self.leads

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request that succeeds and return the body."""
        answer = await self.server.ask(method, path, body, **headers)
        assert answer.status < 300, answer.body
        return answer.json

    async def patch(self, path: str, body: Any) -> Any:
        """Send a merge patch that succeeds and return the object."""
        return await self.ask("PATCH", path, body, Content_Type=MERGE)

    async def fill(self, count: int = 3) -> None:
        """Define widgets with storage version v1, create some, and flip the storage version to v2."""
        await self.server.define(widgets())
        for index in range(count):
            await self.ask(
                "POST", WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": f"w{index}"}, "size": 1}
            )
        await self.patch(DEFINITION, {"spec": widgets(storage="v2")["spec"]})

    async def migrate(self, name: str = "m", resource: str = "widgets", group: str = "example.com") -> None:
        """Create a migration."""
        await self.ask("POST", MIGRATIONS, {"metadata": {"name": name}, "spec": {"resource": {"group": group, "resource": resource}}})

    async def once(self, holds: Callable[[dict[str, dict[str, Any]]], object], name: str = "m") -> dict[str, Any]:
        """Return a migration once a condition holds for its conditions by type."""
        async with asyncio.timeout(30):
            while True:
                migration = await self.ask("GET", f"{MIGRATIONS}/{name}")
                if holds(by_type(migration)):
                    found: dict[str, Any] = migration
                    return found

    async def ended(self, name: str = "m") -> dict[str, dict[str, Any]]:
        """Return the conditions of a migration once it has ended."""
        return by_type(await self.once(lambda found: found.get("Running", {}).get("status") == "False", name))

    async def stored(self) -> dict[str, str]:
        """Return the apiVersion in which each widget is stored."""
        found = await self.server.backend.list("/registry/example.com/widgets/")
        return {pair.key.rpartition("/")[2]: json.loads(pair.value)["apiVersion"] for pair in found.items}

    async def definition(self) -> tuple[list[str], dict[str, Any]]:
        """Return the stored versions of widgets and the condition StorageMigrating."""
        status = (await self.ask("GET", DEFINITION))["status"]
        return status["storedVersions"], next((one for one in status["conditions"] if one["type"] == "StorageMigrating"), {})


def by_type(migration: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the conditions by their types."""
    return {one["type"]: one for one in migration["status"].get("conditions", ())}


@pytest.fixture
async def idle() -> AsyncIterator[Migrator]:
    """Yield a server whose controller is not started."""
    async with InProcess() as server:
        migrator = Migrator(server)
        yield migrator
        await migrator.controller.close()


@pytest.fixture
async def migrator(idle: Migrator) -> Migrator:
    """Yield a server whose controller runs."""
    idle.controller.start()
    return idle
