"""KMS plugins: seeds, rotation, failures, and the stored message."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from apiext.storage.value.configuration import KMSProvider
from apiext.storage.value.kms.messages import MESSAGES, EncryptedObject
from apiext.storage.value.kms.plugins import Plugin, decode
from apiext.storage.value.kms.service import KMSService, KMSStats
from apiext.storage.value.transformer import MissingKeyError, TransformError
from tests.support.event_loop import Clock

CONTEXT = b"/registry/secrets/default/one"


class Service:
    """Implements the calls of KMSService without a plugin."""

    def __init__(self) -> None:
        self.key = "key-1"
        self.encrypting_key = ""
        self.healthz = "ok"
        self.version = "v2"
        self.fails = False
        self.calls: list[str] = []

    async def status(self) -> Any:
        """Return the state."""
        self._count("status")
        return MESSAGES["StatusResponse"](version=self.version, healthz=self.healthz, key_id=self.key)

    async def encrypt(self, _uid: str, plaintext: bytes) -> Any:
        """Put the key in front."""
        self._count("encrypt")
        key = self.encrypting_key or self.key
        return MESSAGES["EncryptResponse"](ciphertext=key.encode() + plaintext, key_id=key, annotations={"a.example.com": b"1"})

    async def decrypt(self, _uid: str, message: Any) -> bytes:
        """Remove the key."""
        self._count("decrypt")
        await asyncio.sleep(0)
        plaintext: bytes = message.dek_source.removeprefix(message.key_id.encode())
        return plaintext

    def _count(self, name: str) -> None:
        self.calls.append(name)
        if self.fails:
            raise TransformError("rpc error: code = Unavailable desc = gone", "Unavailable")


@pytest.fixture
def service() -> Service:
    """Return the plugin's side."""
    return Service()


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the plugin."""
    return Clock()


def plugin(service: Service, clock: Clock) -> Plugin:
    """Return another server's view of the same plugin."""
    return Plugin("vault", service, KMSStats(), clock)  # type: ignore[arg-type]


@pytest.fixture
async def vault(service: Service, clock: Clock) -> Plugin:
    """Return a plugin with a seed."""
    found = plugin(service, clock)
    await found.check()
    return found


async def opened(vault: Plugin, stored: bytes, context: bytes = CONTEXT) -> tuple[bytes, bool]:
    """Return an object and whether it is stale; fetch its seed first if that is necessary."""
    try:
        return vault.from_storage(stored, context)
    except MissingKeyError as missing:
        await missing.fetch()
    return vault.from_storage(stored, context)


async def test_round_trip(vault: Plugin, service: Service) -> None:
    """The seed's own values need no call; each has a key of its own."""
    stored = vault.to_storage(b"{}", CONTEXT)

    assert vault.from_storage(stored, CONTEXT) == (b"{}", False)
    assert stored != vault.to_storage(b"{}", CONTEXT)
    assert service.calls == ["status", "encrypt"]
    with pytest.raises(TransformError, match="cipher: message authentication failed"):
        vault.from_storage(stored, CONTEXT + b"2")


async def test_stored_message(vault: Plugin) -> None:
    """The message has what is needed to decrypt the seed, and the type of the seed."""
    message = decode(vault.to_storage(b"{}", CONTEXT))

    assert (message.key_id, message.dek_source_type, dict(message.annotations)) == ("key-1", 1, {"a.example.com": b"1"})
    assert len(message.data) == 32 + 12 + len(b"{}") + 16


async def test_seeds_of_other_servers_are_fetched_once(vault: Plugin, service: Service, clock: Clock) -> None:
    """Values with one seed share a call, at once and later."""
    other = plugin(service, clock)
    await other.check()
    stored = [other.to_storage(b"%d" % number, CONTEXT) for number in range(3)]
    service.calls.clear()

    found = await asyncio.gather(*(opened(vault, each) for each in stored))

    assert found == [(b"0", False), (b"1", False), (b"2", False)]
    assert service.calls == ["decrypt"]


async def test_new_key(vault: Plugin, service: Service) -> None:
    """A change of the plugin's key makes a seed, and older values stale; a check without a change makes none."""
    old, changes = vault.to_storage(b"{}", CONTEXT), vault.changes
    await vault.check()
    assert vault.changes == changes
    service.key = "key-2"
    await vault.check()

    assert vault.changes == changes + 1
    assert vault.from_storage(old, CONTEXT) == (b"{}", True)
    assert decode(vault.to_storage(b"{}", CONTEXT)).key_id == "key-2"
    assert service.calls == ["status", "encrypt", "status", "status", "encrypt"]


async def test_failing_plugin(vault: Plugin, service: Service, clock: Clock) -> None:
    """Without the plugin, a seed encrypts for three minutes; what it encrypted can be read on."""
    stored = vault.to_storage(b"{}", CONTEXT)
    service.fails = True
    with pytest.raises(TransformError, match="failed to perform status section of the healthz check for KMS Provider vault"):
        await vault.check()
    clock.now += 179
    assert vault.to_storage(b"{}", CONTEXT)
    clock.now += 2
    with pytest.raises(TransformError, match=r'encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at '):
        vault.to_storage(b"{}", CONTEXT)
    assert vault.from_storage(stored, CONTEXT) == (b"{}", False)
    service.fails = False
    await vault.check()
    assert vault.to_storage(b"{}", CONTEXT)


async def test_seed_that_cannot_be_decrypted(vault: Plugin, service: Service, clock: Clock) -> None:
    """A failed call is not repeated at once; a later check reports that values may be readable."""
    other = plugin(service, clock)
    await other.check()
    stored = other.to_storage(b"{}", CONTEXT)
    service.fails, changes = True, vault.changes
    message = "failed to decrypt DEK, error: rpc error: code = Unavailable desc = gone"
    for _ in range(2):
        with pytest.raises(TransformError, match=message) as error:
            await opened(vault, stored)
        assert error.value.code == "Unavailable"
    assert service.calls.count("decrypt") == 1
    service.fails = False
    await vault.check()

    assert vault.changes == changes + 1
    assert await opened(vault, stored) == (b"{}", False)


@pytest.mark.parametrize("type_, message", [(1, "invalid seed length 3 used for"), (0, "crypto/aes: invalid key size 3")])
async def test_seed_of_wrong_size(vault: Plugin, service: Service, type_: int, message: str) -> None:
    """The plugin is not asked again at once for a seed that has the wrong size."""
    stored = EncryptedObject(data=b"x", key_id="k", dek_source=b"bad", dek_source_type=type_).SerializeToString()
    for _ in range(2):
        with pytest.raises(TransformError, match=message):
            await opened(vault, stored)

    assert service.calls.count("decrypt") == 1


async def test_plugin_without_a_seed(service: Service, clock: Clock) -> None:
    """Nothing can be read or written before the plugin has answered once."""
    stored = EncryptedObject(data=b"x", key_id="k", dek_source=b"s").SerializeToString()
    vault = plugin(service, clock)
    for call in (vault.from_storage, vault.to_storage):
        with pytest.raises(TransformError, match="got unexpected nil transformer"):
            call(stored, CONTEXT)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"healthz": "sick"}, "got unexpected healthz status: sick"),
        ({"version": "v3"}, "expected KMSv2 API version v2, got v3"),
        ({"version": "v2beta1"}, "KMSv2 API version should not change after the initial status response version v2, got v2beta1"),
        ({"key": ""}, 'got invalid KMSv2 KeyID hash "": keyID is empty'),
        ({"key": "k" * 1025}, "keyID is 1025 bytes, which exceeds the max size of 1024"),
        ({"key": "key-2", "encrypting_key": "key-3"}, 'failed to rotate DEK uid="'),
    ],
    ids=["healthz", "version", "changed version", "no key", "long key", "other key"],
)
async def test_unhealthy_plugin(vault: Plugin, service: Service, change: dict[str, str], message: str) -> None:
    """A check fails with the reference's words, and the present seed stays."""
    for name, value in change.items():
        setattr(service, name, value)

    with pytest.raises(TransformError) as error:
        await vault.check()

    assert str(error.value).startswith("kmsv2 Provider vault is not healthy, error: ")
    assert message in str(error.value)
    assert decode(vault.to_storage(b"{}", CONTEXT)).key_id == "key-1"


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"data": b""}, "encrypted data is empty"),
        ({"dek_source": b""}, "failed to validate encrypted DEK source: encrypted DEK source is empty"),
        ({"dek_source": bytes(1025)}, "encrypted DEK source is 1025 bytes, which exceeds the max size of 1024"),
        ({"key_id": ""}, "failed to validate key id: keyID is empty"),
        ({"dek_source_type": 2}, "unknown encryptedDEKSourceType: 2"),
        ({"annotations": {"bad": b""}}, "should be a domain with at least two segments separated by dots"),
        ({"annotations": {"": b""}}, "failed to validate annotations: annotations: Required value"),
        ({"annotations": {"a.example.com": bytes(33000)}}, "total size of annotations is 33013, which exceeds the max size of 32768"),
    ],
    ids=["data", "source", "long source", "key", "type", "annotation", "empty annotation", "annotations"],
)
def test_malformed_messages(fields: dict[str, Any], message: str) -> None:
    """A stored message is checked as in the reference."""
    valid = {"data": b"x", "key_id": "k", "dek_source": b"s"}
    with pytest.raises(TransformError) as error:
        decode(EncryptedObject(**valid | fields).SerializeToString())

    assert message in str(error.value)


def test_broken_message() -> None:
    """What is no message is refused."""
    with pytest.raises(TransformError, match="proto: "):
        decode(b"\xff\xff")


async def test_ended_calls(tmp_path: Path) -> None:
    """A call that this server ends, and one after the end, are counted as canceled."""
    stats = KMSStats()
    service = KMSService(KMSProvider("vault", f"unix://{tmp_path}/kms.sock", 10.0), stats)
    call = asyncio.create_task(service.status())
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await service.close()
    with pytest.raises(TransformError, match="the connection to the KMS plugin vault is closed"):
        await service.status()

    assert list(stats.calls) == [("vault", "/v2.KeyManagementService/Status", "Canceled")]


def test_keys_in_use() -> None:
    """Count the uses of a key on, however many others were used once."""
    stats = KMSStats()
    for number in range(1000):
        stats.use("from_storage", "vault", "kept")
        stats.use("from_storage", "vault", f"once-{number}")

    assert stats.keys["from_storage", "vault", "kept"][0] == 1000
    assert len(stats.keys) == 100
