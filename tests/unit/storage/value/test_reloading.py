"""Reloads of the EncryptionConfiguration."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apiext.base.meta.configuration import ConfigurationError
from apiext.storage.value import reloading
from apiext.storage.value.configuration import read_encryption_configuration
from apiext.storage.value.encryption import Encryption
from apiext.storage.value.reloading import EncryptionReloader
from apiext.storage.value.transforming_backend import open_encrypted
from tests.support.builders.encryption import IDENTITY, keyed, kms, write_configuration
from tests.support.event_loop import until, until_answered
from tests.support.servers.kms_plugin import KMSPlugin
from tests.support.servers.memory_backend import MemoryBackend

KEY = "/registry/secrets/default/one"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with one key."""
    return write_configuration(tmp_path / "encryption.json", (["secrets"], [keyed("aesgcm", "key1"), IDENTITY]))


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[KMSPlugin]:
    """Run a plugin."""
    with KMSPlugin(tmp_path) as running:
        yield running


async def test_follows_the_file(path: Path, backend: MemoryBackend) -> None:
    """Use a changed file, keep the present one while the new one is invalid, and count both."""
    opened = await open_encrypted(backend, "/registry", path)
    reloader = EncryptionReloader(path, opened.encryption, poll_seconds=0.01)
    reloader.start()
    await opened.create(KEY, b"{}")
    write_configuration(path, ([], []))
    await until(lambda: reloader.counts.get("failure"))
    assert (await opened.get(KEY))[0] is not None
    write_configuration(path, (["secrets"], [keyed("aescbc", "key2"), keyed("aesgcm", "key1")]))
    await until(lambda: reloader.counts.get("success"))
    await reloader.close()

    pair, _ = await opened.get(KEY)
    assert pair is not None
    assert (pair.value, pair.stale) == (b"{}", True)
    await opened.update(KEY, b"{}", expected=pair.revision)
    assert backend.state[KEY].value.startswith(b"k8s:enc:aescbc:v1:key2:")
    assert set(reloader.times) == {"failure", "success"}


async def test_an_unchanged_file_is_not_used_again(path: Path) -> None:
    """Nothing happens without a change."""
    encryption = Encryption(read_encryption_configuration(path))

    assert not await EncryptionReloader(path, encryption).reload()
    assert encryption.generation == 1


async def test_plugins_must_be_healthy(path: Path, backend: MemoryBackend, plugin: KMSPlugin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose plugin is not healthy is refused; the next one continues its counts, and closes the connections of the previous one."""
    monkeypatch.setattr(reloading, "LEAST_HEALTH_SECONDS", 0.0)
    opened = await open_encrypted(backend, "/registry", path)
    reloader = EncryptionReloader(path, opened.encryption)
    # the check of an unhealthy plugin takes twice its timeout
    write_configuration(path, (["secrets"], [kms(plugin.endpoint, timeout="500ms"), IDENTITY]))
    plugin.healthz = "sick"
    with pytest.raises(ConfigurationError, match=r"health check for new transformers failed: kms-provider-0: .*healthz status: sick"):
        await reloader.reload()
    plugin.healthz = "ok"
    write_configuration(path, (["secrets"], [kms(plugin.endpoint), IDENTITY]))
    assert await reloader.reload()
    await opened.create(KEY, b"{}")
    assert backend.state[KEY].value.startswith(b"k8s:enc:kms:v2:vault:")
    write_configuration(path, (["secrets"], [IDENTITY, kms(plugin.endpoint, "vault")]))
    assert await reloader.reload()

    pair, _ = await opened.get(KEY)
    assert pair is not None
    assert (pair.value, pair.stale) == (b"{}", True)
    assert plugin.decrypted == 1
    await reloader.close()
    await opened.close()


async def test_plugin_that_is_not_there(tmp_path: Path, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server starts without its plugin, reports this, and works once the plugin is there."""
    plugin = KMSPlugin(tmp_path)
    path = write_configuration(tmp_path / "encryption.json", (["secrets"], [kms(plugin.endpoint, timeout="100ms"), IDENTITY]))
    monkeypatch.setattr("apiext.storage.value.kms.plugins.UNHEALTHY_SECONDS", 0.0)
    opened = await open_encrypted(backend, "/registry", path)
    (problem,) = await opened.encryption.problems()
    assert problem.startswith(
        "kms-provider-0: failed to perform status section of the healthz check for KMS Provider vault, error: rpc error"
    )
    generation = opened.encryption.generation
    with plugin:

        async def is_healthy() -> bool:
            return not await opened.encryption.problems()

        await until_answered(is_healthy)
        assert opened.encryption.generation > generation
        await opened.create(KEY, b"{}")
    await opened.close()
