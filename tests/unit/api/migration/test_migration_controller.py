"""Migrations from their creation to their end."""

import asyncio
from typing import Any

import pytest

from apiext.api.endpoints.handlers.write import perform
from apiext.api.migration import migration_controller, resource_patches
from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import STORAGE_VERSION_MIGRATIONS
from apiext.resources.registry.request_context import RequestContext
from apiext.resources.registry.rest import ResourceRest
from apiext.storage.interface import Item
from tests.support.event_loop import settle, until
from tests.unit.api.migration.conftest import DEFINITION, MIGRATIONS, WIDGETS, Migrator, by_type, widgets


class Patches:
    """Stands in front of the execution of patches: counts them, and lets some fail or wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.errors: dict[str, list[Exception]] = {}
        self.entered = asyncio.Event()
        self.allowed = asyncio.Event()
        self.allowed.set()
        self._perform = perform
        monkeypatch.setattr(resource_patches, "perform", self.perform)

    async def perform(self, workers: Any, scope: Any, execute: Any, call: Any) -> Any:
        """Patch an object."""
        self.names.append(call.name)
        self.entered.set()
        await self.allowed.wait()
        if self.errors.get(call.name):
            raise self.errors[call.name].pop(0)
        return await self._perform(workers, scope, execute, call)


@pytest.fixture
def patches(monkeypatch: pytest.MonkeyPatch) -> Patches:
    """Observe the patches of objects."""
    return Patches(monkeypatch)


async def test_migrates(migrator: Migrator) -> None:
    """Store all objects in the new version with nothing else changed, and remove the old one from storedVersions."""
    await migrator.fill()
    before = (await migrator.ask("GET", f"{WIDGETS}/w0"))["metadata"]

    await migrator.migrate()
    found = await migrator.ended()
    after = (await migrator.ask("GET", f"{WIDGETS}/w0"))["metadata"]

    assert await migrator.stored() == dict.fromkeys(("w0", "w1", "w2"), "example.com/v2")
    assert before.pop("resourceVersion") != after.pop("resourceVersion")
    assert after == before
    assert found["Succeeded"]["reason"] == "StorageVersionMigrationSucceeded"
    assert (found["Succeeded"]["message"], found["Running"]["reason"]) == ("Migration completed", "MigrationCompleted")
    versions, condition = await migrator.definition()
    assert versions == ["v2"]
    assert (condition["status"], condition["reason"], condition["observedGeneration"]) == ("False", "MigrationSucceeded", 2)
    assert condition["message"] == "The migration has succeeded and the stored versions have been updated"


async def test_field_managers(migrator: Migrator) -> None:
    """Record the managers of the reference."""
    await migrator.fill(1)
    await migrator.migrate()
    await migrator.ended()

    migration, crd = await migrator.ask("GET", f"{MIGRATIONS}/m"), await migrator.ask("GET", DEFINITION)

    managers = [(entry["manager"], entry["operation"]) for entry in migration["metadata"]["managedFields"] if "subresource" in entry]
    assert managers == [("kube-controller-manager", "Update")]
    applied = [entry for entry in crd["metadata"]["managedFields"] if entry["operation"] == "Apply"]
    assert [(entry["manager"], entry["subresource"]) for entry in applied] == [("migration-runner-controller", "status")]
    assert "f:storedVersions" in applied[0]["fieldsV1"]["f:status"]


async def test_reports_running(migrator: Migrator, patches: Patches) -> None:
    """Report a running migration with its revision, and on the definition."""
    await migrator.fill()
    patches.allowed.clear()

    await migrator.migrate()
    await patches.entered.wait()
    uid = (await migrator.ask("GET", f"{MIGRATIONS}/m"))["metadata"]["uid"]
    assert migrator.controller.progress(uid) == (3, 3)
    migration, (_, condition) = await migrator.ask("GET", f"{MIGRATIONS}/m"), await migrator.definition()
    patches.allowed.set()
    await migrator.ended()
    assert migrator.controller.progress(uid) is None

    running = by_type(migration)["Running"]
    assert (running["status"], running["reason"], running["message"]) == ("True", "MigrationRunning", "The migration is running")
    assert int(migration["status"]["resourceVersion"]) > 0
    assert (condition["status"], condition["message"]) == ("True", "Migration m is running")


@pytest.mark.parametrize("code,reason", [(409, "Conflict"), (404, "NotFound")])
async def test_written_and_deleted_objects_are_done(migrator: Migrator, patches: Patches, code: int, reason: str) -> None:
    """Count objects that a client has written or deleted as migrated; keep a version in which some are still stored."""
    await migrator.fill()
    patches.errors = {"w1": [errors.StatusError(code, reason, "x")]}

    await migrator.migrate()
    found = await migrator.ended()

    assert found["Succeeded"]["status"] == "True"
    versions, condition = await migrator.definition()
    assert versions == ["v2", "v1"]
    assert condition["message"].endswith("and the stored versions have been updated, but 1 object may still be stored in v1")


async def test_keeps_versions_of_unknown_objects(migrator: Migrator, patches: Patches) -> None:
    """Remove no version while an object may be stored in it, whose bytes do not tell."""
    await migrator.fill(1)
    await migrator.server.backend.create("/registry/example.com/widgets/default/encrypted", b"k8s:enc:aescbc:v1:key:x")
    patches.errors = {"encrypted": [errors.StatusError(404, "NotFound", "x")]}

    await migrator.migrate()
    await migrator.ended()

    versions, _ = await migrator.definition()
    assert versions == ["v2", "v1"]


async def test_repeats_transient_errors(migrator: Migrator, patches: Patches) -> None:
    """Report an error that may pass, and continue with the objects that are left."""
    await migrator.fill()
    patches.errors = {"w1": [errors.internal("broken"), errors.too_many_requests("slow down", 1)]}

    await migrator.migrate()
    interrupted = await migrator.once(lambda found: "transient error" in found.get("Running", {}).get("message", ""))
    found = await migrator.ended()

    message = by_type(interrupted)["Running"]["message"]
    assert message == "The migration is running, 1/3 objects not yet migrated; transient error: Internal error occurred: broken"
    assert found["Succeeded"]["status"] == "True"
    assert patches.names == ["w0", "w1", "w2", "w1", "w1"]


async def test_waits_after_an_interruption(idle: Migrator, patches: Patches, monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again after the pause, not when the record of the interruption is seen."""
    monkeypatch.setattr(migration_controller, "PAUSES", (600.0, 600.0))
    waiting = Migrator(idle.server)
    waiting.controller.start()
    await waiting.fill()
    patches.errors = {"w1": [errors.internal("broken")]}

    await waiting.migrate()
    await waiting.once(lambda found: "transient error" in found.get("Running", {}).get("message", ""))
    await settle(200)
    await waiting.controller.close()

    assert patches.names == ["w0", "w1", "w2"]


async def test_fails(migrator: Migrator) -> None:
    """Fail for an object that its schema rejects, say how many are left, and keep the stored versions."""
    await migrator.fill()
    narrow = {"type": "object", "required": ["name"], "properties": {"size": {"type": "integer"}, "name": {"type": "string"}}}
    await migrator.patch(DEFINITION, {"spec": widgets(storage="v2", schema=narrow)["spec"]})

    await migrator.migrate()
    found = await migrator.ended()

    assert found["Failed"]["reason"] == "StorageVersionMigrationFailed"
    text = '3/3 not yet migrated. migration encountered unhandled error: Widget.example.com "w0" is invalid: name: Required value'
    assert found["Failed"]["message"] == text
    versions, condition = await migrator.definition()
    assert (versions, condition["reason"], condition["message"]) == (["v1", "v2"], "MigrationFailed", "The migration has failed")


async def test_changed_definition_keeps_its_versions(migrator: Migrator, patches: Patches) -> None:
    """Remove no stored version if the definition changed during the migration."""
    await migrator.fill()
    patches.allowed.clear()
    await migrator.migrate()
    await patches.entered.wait()

    await migrator.patch(DEFINITION, {"spec": {"names": {"shortNames": ["w"]}}})
    patches.allowed.set()
    await migrator.ended()

    versions, condition = await migrator.definition()
    assert versions == ["v1", "v2"]
    assert condition["message"] == "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"


async def test_second_migration(migrator: Migrator, patches: Patches) -> None:
    """Keep the stored versions while a second migration of the definition runs."""
    await migrator.fill()
    await migrator.migrate("first")
    await migrator.ended("first")
    await migrator.patch(DEFINITION, {"spec": widgets(storage="v1")["spec"]})
    patches.allowed.clear()
    patches.entered.clear()

    await migrator.migrate("second")
    await patches.entered.wait()
    during, _ = await migrator.definition()
    patches.allowed.set()
    await migrator.ended("second")
    after, _ = await migrator.definition()

    assert (during, after) == (["v2", "v1"], ["v1"])


async def test_one_at_a_time(idle: Migrator, patches: Patches) -> None:
    """Run the migrations of one resource one after the other, the oldest first, and those of others meanwhile."""
    await idle.fill(1)
    patches.allowed.clear()
    for name in ("b", "a"):
        await idle.migrate(name)
    await idle.migrate("c", "namespaces", "")

    idle.controller.start()
    await idle.once(lambda found: found.get("Running"), "a")
    await idle.once(lambda found: found.get("Running"), "c")
    waiting = by_type(await idle.ask("GET", f"{MIGRATIONS}/b"))
    unfinished = idle.controller.unfinished()
    patches.allowed.set()
    ended = [await idle.ended(name) for name in ("a", "b", "c")]

    assert not waiting
    assert unfinished == {"widgets.example.com": 2, "namespaces": 1}
    assert all(found["Succeeded"]["status"] == "True" for found in ended)


async def test_continues(idle: Migrator, patches: Patches) -> None:
    """Continue a migration that another process has begun: objects written after its revision are not touched."""
    await idle.fill()
    revision = (await idle.ask("GET", f"{WIDGETS}/w1"))["metadata"]["resourceVersion"]
    await idle.migrate()
    now = "2001-01-01T00:00:00Z"
    running = {"type": "Running", "status": "True", "reason": "MigrationRunning", "message": "", "lastTransitionTime": now}
    await idle.patch(f"{MIGRATIONS}/m/status", {"status": {"resourceVersion": revision, "conditions": [running]}})

    idle.controller.start()
    await idle.ended()

    assert sorted(patches.names) == ["w0", "w1"]


async def test_only_the_leader_works(idle: Migrator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the work to the server that leads, and take over from it."""
    monkeypatch.setattr(migration_controller, "TURN_SECONDS", 0.01)
    await idle.fill(1)
    await idle.migrate()
    idle.leads = False

    idle.controller.start()
    await idle.asked.wait()
    await settle()
    untouched = (await idle.ask("GET", f"{MIGRATIONS}/m"))["status"]
    idle.leads = True

    assert untouched == {}
    assert (await idle.ended())["Succeeded"]["status"] == "True"


async def test_deleted_migration_stops(migrator: Migrator, patches: Patches) -> None:
    """Patch no more objects once the migration is deleted."""
    await migrator.fill(20)
    patches.allowed.clear()
    await migrator.migrate()
    await patches.entered.wait()
    uid = (await migrator.ask("GET", f"{MIGRATIONS}/m"))["metadata"]["uid"]

    await migrator.ask("DELETE", f"{MIGRATIONS}/m")
    patches.allowed.set()
    await until(lambda: migrator.controller.progress(uid) is None)

    assert len(patches.names) < 20


async def test_unknown_resource(migrator: Migrator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a resource that is not served, and fail when the migration is a minute old."""
    await migrator.migrate(resource="gadgets")
    await migrator.once(lambda found: found.get("Running"))
    monkeypatch.setattr(migration_controller, "UNKNOWN_SECONDS", 0)
    monkeypatch.setattr(migration_controller, "LOOK_SECONDS", 0.01)

    found = await migrator.ended()

    assert (found["Failed"]["status"], found["Failed"]["message"]) == ("True", "resource does not exist in discovery")


async def test_terminating_definition(migrator: Migrator) -> None:
    """Fail for a resource that is being deleted, and does not accept writes."""
    await migrator.fill(1)
    await migrator.patch(f"{WIDGETS}/w0", {"metadata": {"finalizers": ["example.com/x"]}})
    await migrator.ask("DELETE", DEFINITION)

    await migrator.migrate()
    found = await migrator.ended()

    text = 'resource "example.com/v2, Resource=widgets" does not support discovery operations: [update patch list]'
    assert found["Failed"]["message"] == text


@pytest.mark.parametrize(
    "resource,group",
    [("namespaces", ""), ("events", ""), ("customresourcedefinitions", "apiextensions.k8s.io")],
)
async def test_builtin_resources(migrator: Migrator, resource: str, group: str) -> None:
    """Migrate built-in resources, which changes nothing."""
    await migrator.fill(1)
    before = (await migrator.ask("GET", DEFINITION))["metadata"]["resourceVersion"]

    await migrator.migrate(resource=resource, group=group)
    found = await migrator.ended()

    assert found["Succeeded"]["status"] == "True"
    assert (await migrator.ask("GET", DEFINITION))["metadata"]["resourceVersion"] == before


async def test_many_migrations(migrator: Migrator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read few migrations for each turn, however many wait."""
    await migrator.fill()
    reads: list[str] = []
    get = ResourceRest.get

    async def counted(rest: ResourceRest, ctx: RequestContext, name: str, **options: Any) -> Item:
        if ctx.user is None and rest.resource == STORAGE_VERSION_MIGRATIONS.resource.group_resource:
            reads.append(name)
        return await get(rest, ctx, name, **options)

    monkeypatch.setattr(ResourceRest, "get", counted)
    names = [f"m{number:02}" for number in range(20)]
    for name in names:
        await migrator.migrate(name)
    for name in names:
        await migrator.ended(name)

    # a dozen turns each, one more or less by the order of events; all that wait in each turn would be ten times as many
    assert 0 < len(reads) <= 20 * len(names)
