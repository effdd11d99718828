"""Migrations rewrite objects that are encrypted with an old key."""

from collections.abc import AsyncIterator

import pytest

from apiext.api.migration import automatic_migration
from apiext.base.meta import limits
from apiext.base.meta.gvk import GroupResource
from apiext.storage.value.configuration import EncryptedResources, EncryptionConfiguration, IdentityProvider
from apiext.storage.value.encryption import Encryption
from tests.contract.encryption import KEY, OTHER_KEY, configuration
from tests.support.builders.crds import crd, version, widget
from tests.support.event_loop import until
from tests.support.servers.in_process import InProcess
from tests.unit.api.migration.test_automatic_migration import BASE, MERGE, PREFIX, Migrate, migrate

__all__ = ["migrate"]


@pytest.fixture
def encryption() -> Encryption:
    """Return an encryption with one key."""
    return Encryption(configuration(KEY, IdentityProvider()))


@pytest.fixture
async def server(encryption: Encryption, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcess]:
    """Yield a server with encrypted widgets of one version, which looks often whether keys have changed."""
    monkeypatch.setattr(limits, "MIGRATED_PER_SECOND", 1_000_000)
    for name in ("FIRST_CHECK_SECONDS", "KEYS_SECONDS", "LAG_SECONDS", "TURN_SECONDS"):
        monkeypatch.setattr(automatic_migration, name, 0.01)
    async with InProcess(encryption=encryption) as running:
        await running.define(crd("widgets", version("v1", storage=True)))
        for name in ("a", "b"):
            assert (await running.ask("POST", BASE, widget(name))).status == 201
        yield running


def values(server: InProcess) -> list[bytes]:
    """Return the stored values of objects."""
    return [pair.value for key, pair in server.backend.state.items() if key.startswith(PREFIX)]


def keys(server: InProcess) -> set[bytes]:
    """Return the names of the keys of stored objects."""
    return {value.split(b":")[4] for value in values(server)}


async def test_automatic_migration(server: InProcess, migrate: Migrate, encryption: Encryption) -> None:
    """A change of the keys is followed without a change of the definition, and nothing is written twice."""
    migrate()
    encryption.replace(configuration(OTHER_KEY, KEY))
    await until(lambda: keys(server) == {b"key2"})
    before = [pair.revision for key, pair in server.backend.state.items() if key.startswith(PREFIX)]
    encryption.replace(configuration(OTHER_KEY))

    assert [item["metadata"]["name"] for item in (await server.ask("GET", BASE)).json["items"]] == ["a", "b"]
    assert [pair.revision for key, pair in server.backend.state.items() if key.startswith(PREFIX)] == before


async def test_resource_that_is_encrypted_later(server: InProcess, migrate: Migrate, encryption: Encryption) -> None:
    """A reload that adds a resource encrypts its objects without a change of the definition."""
    encryption.replace(configuration(IdentityProvider(), KEY))
    for name in ("a", "b"):
        assert (await server.ask("PATCH", f"{BASE}/{name}", {}, Content_Type=MERGE)).status == 200
    encryption.replace(EncryptionConfiguration([EncryptedResources([GroupResource("", "secrets")], [KEY])], "sha256:secrets"))
    migrate()
    assert all(value.startswith(b"{") for value in values(server))
    encryption.replace(configuration(KEY, IdentityProvider()))

    await until(lambda: all(value.startswith(b"k8s:enc:aesgcm:v1:key1:") for value in values(server)))


async def test_update_without_a_change(server: InProcess, encryption: Encryption) -> None:
    """A patch that changes nothing, as that of a StorageVersionMigration, rewrites the object once."""
    encryption.replace(configuration(OTHER_KEY, KEY))
    revisions = []
    for _ in range(2):
        answer = await server.ask("PATCH", f"{BASE}/a", {}, Content_Type=MERGE)
        assert answer.status == 200
        revisions.append(answer.json["metadata"]["resourceVersion"])

    assert keys(server) == {b"key1", b"key2"}
    assert revisions[0] == revisions[1]
