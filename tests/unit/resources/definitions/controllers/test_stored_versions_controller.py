"""Condition UnusedStoredVersions, and the repair of status.storedVersions."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.host_annotations import FROZEN, HOST_UID, IMPORTING, PHASE, SERVING
from apiext.resources.definitions.controllers.stored_versions_controller import StoredVersionsController
from apiext.storage.stored_bytes.version_counts import UNKNOWN, StoredCounts, StoredVersions
from tests.support.builders.crds import crd, version
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, InProcess

ONE = f"{CRDS}/widgets.example.com"
CONDITION = "UnusedStoredVersions"


class Counted(StoredVersions):
    """What is stored, as a test sets it."""

    def __init__(self) -> None:
        self.by_version: dict[str, int] = {}
        self.asked = 0

    async def counts(self) -> StoredCounts:
        """Return the numbers."""
        self.asked += 1
        return StoredCounts(dict(self.by_version), 1)

    def known(self) -> StoredCounts | None:
        """Return the numbers."""
        self.asked += 1
        return StoredCounts(dict(self.by_version), 1)


class Controlled:
    """A server with a definition and a controller that counts often."""

    def __init__(self, server: InProcess) -> None:
        self.server = server
        self.stored = Counted()

    def controller(self, *, restores: bool = False) -> StoredVersionsController:
        """Return a controller."""

        async def record(_old: Any, _new: Any) -> None:
            """Record nothing."""

        def stored(_resource: GroupResource) -> StoredVersions:
            return self.stored

        return StoredVersionsController(self.server.informer, stored, record, restores=restores, interval=0.001)

    @asynccontextmanager
    async def running(self, *, restores: bool = False, annotations: dict[str, str] | None = None) -> AsyncIterator[None]:
        """Run the controller."""
        controller = self.controller(restores=restores)
        controller.start()
        definition = crd("widgets", version("v1alpha1", storage=True), version("v1beta1"), version("v1"))
        definition["metadata"]["annotations"] = annotations or {}
        await self.server.define(definition)
        for name in ("v1beta1", "v1"):
            await self.store_in(name)
        yield
        await controller.close()

    async def change(self, edit: Callable[[dict[str, Any]], Any], path: str = ONE) -> None:
        """Change the definition."""
        while True:
            found = (await self.server.ask("GET", ONE)).json
            edit(found)
            answer = await self.server.ask("PUT", path, found)
            if answer.status != 409:
                break
        assert answer.status == 200, answer.message

    async def store_in(self, name: str) -> None:
        """Change the storage version."""
        names = ("v1alpha1", "v1beta1", "v1")
        await self.change(lambda found: found["spec"].update(versions=[version(one, storage=one == name) for one in names]))

    async def prune(self, *names: str) -> None:
        """Set the stored versions."""
        await self.change(lambda found: found["status"].update(storedVersions=list(names)), f"{ONE}/status")

    @property
    def message(self) -> str:
        """Return the message of the condition, "" without it."""
        condition = self.server.catalog.all()[0].condition(CONDITION)
        return condition["message"] if condition else ""

    async def counted(self, times: int = 3) -> None:
        """Wait for further counts."""
        before = self.stored.asked
        await until(lambda: self.stored.asked >= before + times)


@pytest.fixture
def controlled(server: InProcess) -> Controlled:
    """Return a definition under control."""
    return Controlled(server)


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server without definitions."""
    async with InProcess() as running:
        yield running


async def test_names_unused_entries(controlled: Controlled) -> None:
    """Name the entries without objects once they stay so, but never the storage version; forget one that is used again."""
    controlled.stored.by_version = {"v1alpha1": 2}
    async with controlled.running():
        await until(lambda: "no object is stored in v1beta1:" in controlled.message)
        controlled.stored.by_version = {"v1": 2}
        await until(lambda: "no object is stored in v1alpha1, v1beta1:" in controlled.message)
        controlled.stored.by_version = {"v1beta1": 1}
        await until(lambda: "no object is stored in v1alpha1:" in controlled.message)
        controlled.stored.by_version = {"v1alpha1": 1, "v1beta1": 1}
        await until(lambda: not controlled.message)


async def test_names_nothing_that_may_be_used(controlled: Controlled) -> None:
    """Name no entry while the version of an object is unknown."""
    controlled.stored.by_version = {"v1": 2, UNKNOWN: 1}
    async with controlled.running():
        await controlled.counted()

        assert not controlled.message


async def test_writes_the_condition_once(controlled: Controlled) -> None:
    """Write nothing while nothing changes, and count nothing for a definition with one stored version."""
    async with controlled.running():
        await until(lambda: "v1alpha1, v1beta1" in controlled.message)
        revision = controlled.server.catalog.all()[0].revision
        await controlled.counted(5)
        assert controlled.server.catalog.all()[0].revision == revision
        await controlled.prune("v1")
        assert not controlled.message
        before = controlled.stored.asked
        await controlled.change(lambda found: found["metadata"].update(labels={"a": "b"}))

        assert controlled.stored.asked <= before + 1
        assert controlled.server.catalog.all()[0].revision == revision + 2


async def test_keeps_the_condition_over_a_restart(controlled: Controlled) -> None:
    """Write nothing when another server starts and finds the condition true."""
    async with controlled.running():
        await until(lambda: "v1alpha1, v1beta1" in controlled.message)
    revision = controlled.server.catalog.all()[0].revision
    other = InProcess(backend=controlled.server.backend)
    again = Controlled(other)
    again.stored = controlled.stored
    controller = again.controller()
    controller.start()
    async with other:
        await again.counted()
        await controller.close()

        assert other.catalog.all()[0].revision == revision


async def test_belongs_to_the_server(controlled: Controlled) -> None:
    """Keep the condition whatever clients write, and drop it with the change that outdates it."""
    async with controlled.running():
        await until(lambda: "v1alpha1, v1beta1" in controlled.message)
        message = controlled.message
        await controlled.change(lambda found: found["status"].update(conditions=[]), f"{ONE}/status")
        assert controlled.message == message
        forged = {"type": CONDITION, "status": "True", "reason": "Forged", "message": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await controlled.change(lambda found: found["status"].update(conditions=[forged]), f"{ONE}/status")
        assert controlled.message == message
        controlled.stored.by_version = {"v1alpha1": 1, "v1beta1": 1, "v1": 1}
        await controlled.store_in("v1alpha1")

        assert not controlled.message


async def test_counts_no_mirror_whose_objects_are_elsewhere(controlled: Controlled) -> None:
    """Name the entries of a mirror only while this server has the objects."""

    async def set_phase(phase: str) -> None:
        await controlled.change(lambda found: found["metadata"].setdefault("annotations", {}).update({PHASE: phase}))

    async with controlled.running(annotations={HOST_UID: "u", PHASE: IMPORTING}):
        await set_phase(IMPORTING)
        assert controlled.stored.asked == 0
        await set_phase(SERVING)
        await until(lambda: "v1alpha1, v1beta1" in controlled.message)
        await set_phase(FROZEN)
        await until(lambda: not controlled.message)


async def test_restores_missing_entries(controlled: Controlled) -> None:
    """Add an entry back in which objects are stored, if versions are guarded."""
    async with controlled.running(restores=True):
        await controlled.prune("v1")
        controlled.stored.by_version = {"v1beta1": 1, "v2": 1, UNKNOWN: 1}
        await until(lambda: controlled.server.catalog.all()[0].head["status"]["storedVersions"] == ["v1", "v1beta1"])


async def test_trusts_clients_by_default(controlled: Controlled) -> None:
    """Leave entries out that a client has removed, unless versions are guarded."""
    async with controlled.running():
        await controlled.prune("v1alpha1", "v1")
        controlled.stored.by_version = {"v1beta1": 1}
        await controlled.counted()

        assert controlled.server.catalog.all()[0].head["status"]["storedVersions"] == ["v1alpha1", "v1"]
