"""Automatic migration over a server in the process of the tests."""

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from apiext.api.migration import automatic_migration
from apiext.api.migration.automatic_migration import CONDITION, AutomaticMigration
from apiext.base.meta import host_annotations, limits
from apiext.base.scheduling.tasks import end_tasks
from apiext.resources.definitions.controllers.status_writer import StatusWriter
from apiext.resources.managedfields.field_manager import SERVER
from apiext.storage.replicas.lock import ReplicaLock
from apiext.storage.replicas.replica import ReplicaEncoding
from apiext.storage.replicas.roll_call import Replicas
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import Answer, Call, ConversionWebhook, Json, Reply, converting, failing
from tests.support.event_loop import tasks_of, until
from tests.support.servers.in_process import CRDS, InProcess

NAME = "widgets.example.com"
ONE = f"{CRDS}/{NAME}"
BASE = "/apis/example.com/v1/namespaces/default/widgets"
PREFIX = "/registry/example.com/widgets/"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
Migrate = Callable[..., AutomaticMigration]
STRICT = {"type": "object", "properties": {"size": {"type": "string", "maxLength": 3}, "more": {"type": "string", "default": "x"}}}


def _schema() -> dict[str, Any]:
    return {"type": "object", "properties": {"size": {"type": "string"}, "more": {"type": "string"}}}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcess]:
    """Yield a server with widgets of two versions, the second of which has a stricter schema."""
    monkeypatch.setattr(limits, "MIGRATED_PER_SECOND", 1_000_000)
    monkeypatch.setattr(automatic_migration, "LAG_SECONDS", 0.01)
    monkeypatch.setattr(automatic_migration, "TURN_SECONDS", 0.01)
    async with InProcess() as running:
        await running.define(crd("widgets", version("v1", storage=True, schema=_schema()), version("v2", schema=STRICT)))
        yield running


def _replicas(server: InProcess, encodings: Callable[[], dict[str, ReplicaEncoding]] | None = None, *, is_sole: bool = True) -> Replicas:
    def own() -> dict[str, ReplicaEncoding]:
        return {definition.name: server.cache.encoding(definition) for definition in server.catalog.all()}

    return Replicas(server.backend, "/registry", address="", release="", encodings=encodings or own, is_sole=is_sole, answer_seconds=0.1)


@pytest.fixture
async def migrate(server: InProcess) -> AsyncIterator[Migrate]:
    """Yield a function that starts the migration."""
    started: list[AutomaticMigration] = []

    def start(replicas: Replicas | None = None) -> AutomaticMigration:
        replicas = replicas or _replicas(server)
        cache = server.cache
        migration = AutomaticMigration(
            catalog=server.catalog,
            stores=server.stores,
            replicas=replicas,
            lock=ReplicaLock(server.backend, "/registry", replicas, "migration"),
            writer=StatusWriter(server.informer, server.definitions.scopes["status"].fields.recorder(SERVER)),
            workers=server.workers,
            scope=lambda definition: cache.storage_version(cache.current(definition)).scopes[""],
            guard=cache.guards.for_clients,
        )
        migration.start()
        started.append(migration)
        return migration

    yield start
    for migration in started:
        await migration.close()


async def _flip(server: InProcess, target: int = 1) -> None:
    """Make another version the storage version."""
    flip = [{"op": "replace", "path": f"/spec/versions/{index}/storage", "value": index == target} for index in (0, 1)]
    assert (await server.ask("PATCH", ONE, flip, Content_Type=JSON_PATCH)).status == 200


async def _patch(server: InProcess, patch: dict[str, Any], path: str = ONE) -> None:
    """Change the definition, or what is at another path."""
    assert (await server.ask("PATCH", path, patch, Content_Type=MERGE)).status == 200


async def _create(server: InProcess, *names: str, size: str = "m") -> None:
    for name in names:
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "size": size}
        assert (await server.ask("POST", BASE, widget)).status == 201


def _stored(server: InProcess) -> dict[str, Any]:
    """Return the stored objects by name."""
    pairs = {key: pair for key, pair in server.backend.state.items() if key.startswith(PREFIX)}
    return {key.rpartition("/")[2]: json.loads(pair.value) if pair.value[:1] == b"{" else pair.value for key, pair in pairs.items()}


def _stored_versions(server: InProcess) -> list[str]:
    definition = server.catalog.get(NAME)
    assert definition is not None
    versions: list[str] = definition.head["status"]["storedVersions"]
    return versions


def _has_only(server: InProcess, name: str) -> bool:
    return _stored_versions(server) == [name]


def _condition(server: InProcess) -> dict[str, Any] | None:
    definition = server.catalog.get(NAME)
    return definition.condition(CONDITION) if definition is not None else None


async def test_rewrites_objects_and_prunes(server: InProcess, migrate: Migrate) -> None:
    """Store every object in the new version, with nothing else changed, and prune storedVersions."""
    await _create(server, *(f"w{number}" for number in range(230)))
    before = {item["metadata"]["name"]: item for item in (await server.ask("GET", BASE)).json["items"]}
    await _flip(server)
    await _create(server, "new")
    migrate()
    await until(lambda: _stored_versions(server) == ["v2"])

    stored = _stored(server)
    assert len(stored) == 231
    assert {obj["apiVersion"] for obj in stored.values()} == {"example.com/v2"}
    assert all(stored[name]["metadata"] == without_revision(item) for name, item in before.items())
    assert all(stored[name]["size"] == "m" for name in before)
    assert _condition(server) is None
    after = (await server.ask("GET", f"{BASE}/w7")).json
    assert after["metadata"]["generation"] == 1
    assert int(after["metadata"]["resourceVersion"]) > int(before["w7"]["metadata"]["resourceVersion"])


def without_revision(item: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an object as it is stored."""
    return {name: value for name, value in item["metadata"].items() if name != "resourceVersion"}


async def test_migrates_when_the_storage_version_changes_again(server: InProcess, migrate: Migrate) -> None:
    """Follow changes of the definition while running, there and back."""
    migrate()
    await _create(server, "a")
    for target, name in ((1, "v2"), (0, "v1")):
        await _flip(server, target)
        await until(partial(_has_only, server, name))
        assert _stored(server)["a"]["apiVersion"] == f"example.com/{name}"


async def test_stops_when_the_definition_changes(server: InProcess, migrate: Migrate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop a migration whose target is not the storage version any more, and go back."""
    monkeypatch.setattr(limits, "MIGRATED_PER_SECOND", 100)
    await _create(server, *(f"w{number}" for number in range(60)))
    migrate()
    await _flip(server)
    await until(lambda: any(obj["apiVersion"] == "example.com/v2" for obj in _stored(server).values()))
    await _flip(server, 0)
    monkeypatch.setattr(limits, "MIGRATED_PER_SECOND", 1_000_000)
    await until(partial(_has_only, server, "v1"))
    assert {obj["apiVersion"] for obj in _stored(server).values()} == {"example.com/v1"}


async def test_leaves_the_status_of_mirrors_to_the_host(server: InProcess, migrate: Migrate) -> None:
    """Rewrite the objects of a mirror that this server owns, but do not prune its storedVersions."""
    await _create(server, "a", "b")
    annotations = {host_annotations.HOST_UID: "u", host_annotations.PHASE: host_annotations.SERVING}
    await _patch(server, {"metadata": {"annotations": annotations}})
    await _flip(server)
    migration = migrate()
    await until(lambda: {obj["apiVersion"] for obj in _stored(server).values()} == {"example.com/v2"})
    await migration.queue.join()
    assert _stored_versions(server) == ["v1", "v2"]


async def _assert_waits(server: InProcess) -> None:
    """Assert that nothing is rewritten until other servers have been asked several times."""
    asked: set[int] = set()

    def is_asked_again() -> bool:
        call = server.backend.state.get("/registry/apiext/replicas/call")
        asked.add(call.revision if call else 0)
        return len(asked) > 6

    await until(is_asked_again)
    assert _stored(server)["a"]["apiVersion"] == "example.com/v1"


async def test_waits_for_every_server(server: InProcess, migrate: Migrate) -> None:
    """Rewrite nothing while a live server still writes the old version."""
    encodings = {NAME: ReplicaEncoding("v1", 1)}
    other, own = _replicas(server, lambda: encodings, is_sole=False), _replicas(server, is_sole=False)
    await other.start()
    await own.start()
    await _create(server, "a")
    await _flip(server)
    migrate(own)
    await _assert_waits(server)

    encodings[NAME] = ReplicaEncoding("v2", 10**6)
    await until(lambda: _stored_versions(server) == ["v2"])
    await other.close()
    await own.close()


async def test_continues_the_work_of_a_dead_server(server: InProcess, migrate: Migrate) -> None:
    """Wait while another live server migrates, and take over when it is gone."""
    other, own = _replicas(server, is_sole=False), _replicas(server, is_sole=False)
    tasks = await tasks_of(other.start())
    await own.start()
    assert await ReplicaLock(server.backend, "/registry", other, "migration").acquire()
    await _create(server, "a")
    await _flip(server)
    migrate(own)
    await _assert_waits(server)

    await end_tasks(*tasks)
    await until(lambda: _stored_versions(server) == ["v2"])
    await own.close()


async def test_rewrites_invalid_objects(server: InProcess, migrate: Migrate) -> None:
    """Rewrite objects that the new schema rejects as they are, and name them in a condition."""
    await _create(server, *(f"long{number}" for number in range(12)), size="too long")
    await _create(server, "short")
    await _flip(server)
    migrate()
    await until(lambda: _stored_versions(server) == ["v2"])

    assert _stored(server)["long1"] == _stored(server)["long1"] | {"apiVersion": "example.com/v2", "size": "too long"}
    condition = _condition(server)
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("True", "InvalidObjects")
    assert condition["message"].startswith("objects stored in v2 that its schema rejects (12): default/long0 (size: Too long")
    assert condition["message"].endswith("; and 2 more")


@pytest.mark.parametrize("restarted", [False, True])
async def test_notices_repaired_objects(server: InProcess, migrate: Migrate, monkeypatch: pytest.MonkeyPatch, *, restarted: bool) -> None:
    """Name the invalid objects that are left after clients have repaired some, and none at last; also after a restart."""
    await _create(server, "one", "two", size="too long")
    await _create(server, "short")
    await _flip(server)
    migration = migrate()
    await until(lambda: _condition(server))
    monkeypatch.setattr(automatic_migration, "REPEAT_SECONDS", 0.01)
    if restarted:
        await migration.close()
        monkeypatch.setattr(automatic_migration, "FIRST_CHECK_SECONDS", 0.01)
        migration = migrate()
    else:
        migration.queue.add(NAME)
    patch = {"size": "m"}
    await _patch(server, patch, f"{BASE}/one")
    await until(lambda: "rejects (1): default/two (" in (_condition(server) or {})["message"])
    await _patch(server, patch, f"{BASE}/two")

    await until(lambda: _condition(server) is None)


async def test_keeps_the_version_of_what_cannot_be_converted(server: InProcess, migrate: Migrate) -> None:
    """Leave an object alone that cannot be decoded, keep the old version in storedVersions, and name the object."""
    await _create(server, "a", "b")
    pair, _ = await server.backend.get(f"{PREFIX}default/b")
    assert pair is not None
    await server.backend.update(pair.key, b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":7}', expected=pair.revision)
    await _flip(server)
    migrate()
    await until(lambda: _condition(server))

    assert _stored_versions(server) == ["v1", "v2"]
    assert (_stored(server)["a"]["apiVersion"], _stored(server)["b"]["apiVersion"]) == ("example.com/v2", "example.com/v1")
    condition = _condition(server)
    assert condition is not None
    assert condition["reason"] == "ConversionFailed"
    assert condition["message"].startswith("objects that cannot be stored in v2 (1): default/b (")


async def test_loses_no_write(server: InProcess, migrate: Migrate) -> None:
    """Keep every acknowledged write of clients that write while objects are rewritten."""
    names = [f"w{number}" for number in range(150)]
    await _create(server, *names)
    await _flip(server)
    migrate()
    for round_number in range(3):
        for name in names:
            patch = {"more": str(round_number)}
            await _patch(server, patch, f"{BASE}/{name}")
    await until(lambda: _stored_versions(server) == ["v2"])
    assert {(obj["apiVersion"], obj["more"]) for obj in _stored(server).values()} == {("example.com/v2", "2")}


async def test_finds_objects_that_no_entry_names(server: InProcess, migrate: Migrate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewrite objects of another version also where storedVersions was pruned too early."""
    monkeypatch.setattr(automatic_migration, "FIRST_CHECK_SECONDS", 0.0)
    await _create(server, "a")
    await _flip(server)
    prune = {"status": {"storedVersions": ["v2"]}}
    await _patch(server, prune, f"{ONE}/status")
    migrate()
    await until(lambda: _stored(server)["a"]["apiVersion"] == "example.com/v2")


async def test_leaves_terminating_definitions_alone(server: InProcess, migrate: Migrate) -> None:
    """Rewrite nothing of a definition that is being deleted."""
    await _create(server, "a")
    patch = {"metadata": {"finalizers": ["example.com/keep"]}}
    await server.ask("PATCH", f"{BASE}/a", patch, Content_Type=MERGE)
    await _flip(server)
    await server.ask("DELETE", ONE)
    migration = migrate()
    await migration.queue.join()
    assert _stored(server)["a"]["apiVersion"] == "example.com/v1"


def _refusing(*names: str) -> Answer:
    """Return an answer that refuses batches with one of these objects, and else sets the field `more`."""

    def mark(obj: Json, api_version: str) -> None:
        obj["more"] = api_version

    def answer(call: Call) -> Reply | Json:
        return failing("no")(call) if set(names) & set(call.names) else converting(mark)(call)

    return answer


async def test_converts_with_a_webhook(
    server: InProcess, migrate: Migrate, monkeypatch: pytest.MonkeyPatch, webhook: ConversionWebhook
) -> None:
    """Convert in batches; keep the version of objects that the webhook refuses, and finish when it does not any more."""
    monkeypatch.setattr(automatic_migration, "REPEAT_SECONDS", 0.01)
    await _create(server, *(f"w{number:03}" for number in range(250)))
    webhook.answer = _refusing("w007", "w120")
    await _patch(server, {"spec": {"conversion": webhook.conversion()}})
    await _flip(server)
    migrate()
    await until(lambda: _condition(server))
    first_calls = len(webhook.calls)

    assert _stored_versions(server) == ["v1", "v2"]
    assert {name for name, obj in _stored(server).items() if obj["apiVersion"] == "example.com/v1"} == {"w007", "w120"}
    assert _stored(server)["w000"]["more"] == "example.com/v2"
    condition = _condition(server)
    assert condition is not None
    assert condition["message"].startswith("objects that cannot be stored in v2 (2): default/w007 (")
    assert first_calls < 60

    webhook.answer = _refusing()
    await until(partial(_has_only, server, "v2"))
    assert _condition(server) is None
    assert {obj["more"] for obj in _stored(server).values()} == {"example.com/v2"}


async def test_forgets_failures_of_objects_that_are_gone(server: InProcess, migrate: Migrate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the condition about an object once it is deleted, also if nothing else is left to rewrite."""
    monkeypatch.setattr(automatic_migration, "REPEAT_SECONDS", 0.01)
    await _create(server, "a")
    pair, _ = await server.backend.get(f"{PREFIX}default/a")
    assert pair is not None
    broken = await server.backend.update(pair.key, b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":7}', expected=pair.revision)
    await _flip(server)
    migrate()
    await until(lambda: _condition(server))
    await server.backend.delete(pair.key, expected=broken.revision)

    await until(partial(_has_only, server, "v2"))
    assert _condition(server) is None


async def test_repeats_no_pass_for_changed_conditions(server: InProcess, migrate: Migrate, webhook: ConversionWebhook) -> None:
    """Wait before failed objects are tried again, although the condition about them, and others, change the definition."""
    await _create(server, "a")
    reasons = count()

    def answer(call: Call) -> Reply | Json:
        return failing(f"{next(reasons)} {'x' * 300}")(call)

    webhook.answer = answer
    await _patch(server, {"spec": {"conversion": webhook.conversion()}})
    await _flip(server)
    migration = migrate()
    await until(lambda: _condition(server))
    await migration.queue.join()
    before, condition = len(webhook.calls), _condition(server)
    assert condition is not None
    assert len(condition["message"]) < 300

    conditions = (await server.ask("GET", ONE)).json["status"]["conditions"]
    other = {"type": "Other", "status": "True", "reason": "A", "message": ""}
    status = {"status": {"conditions": [*conditions, other]}}
    await _patch(server, status, f"{ONE}/status")
    await migration.queue.join()
    assert len(webhook.calls) == before
    assert _condition(server) == condition
