"""Writing of values that another key has encrypted."""

from pathlib import Path
from typing import Any, cast

from apiext.storage.backend import Backend, RangeResult, WriteResult
from apiext.storage.stored_bytes.reencryption import reencrypt_page
from apiext.storage.value.transforming_backend import open_encrypted
from tests.support.builders.encryption import keyed, write_configuration
from tests.support.servers.memory_backend import MemoryBackend

PREFIX = "/registry"


async def _encrypted(backend: Backend, folder: Path, *keys: str) -> Backend:
    """Return a backend that encrypts ConfigMaps by the first of the keys."""
    file = write_configuration(folder / "encryption.json", (["configmaps"], [keyed("aescbc", *keys)]))
    return await open_encrypted(backend, PREFIX, file)


def _key_of(backend: MemoryBackend, name: str) -> bytes:
    return backend.state[f"{PREFIX}/configmaps/default/{name}"].value.split(b":")[4]


async def test_writes_values_with_another_key_only(backend: MemoryBackend, tmp_path: Path) -> None:
    """Write what the second key has encrypted; leave values of the first key and those that are not encrypted as they are."""
    before = await _encrypted(backend, tmp_path, "old")
    await before.create(f"{PREFIX}/configmaps/default/a", b"1")
    await before.create(f"{PREFIX}/leases/default/b", b"2")
    now = await _encrypted(backend, tmp_path, "new", "old")
    await now.create(f"{PREFIX}/configmaps/default/c", b"3")
    revision = await backend.revision()

    first, second = await reencrypt_page(now, PREFIX), await reencrypt_page(now, PREFIX)

    assert (first.examined, first.written, first.unreadable, first.after) == (3, 1, [], "")
    assert (second.examined, second.written) == (3, 0)
    assert await backend.revision() == revision + 1
    assert {_key_of(backend, name) for name in ("a", "c")} == {b"new"}
    pair, _ = await now.get(f"{PREFIX}/configmaps/default/a")
    assert pair is not None
    assert pair.value == b"1"


async def test_names_values_without_a_key(backend: MemoryBackend, tmp_path: Path) -> None:
    """Name values that cannot be decrypted, and leave them."""
    await (await _encrypted(backend, tmp_path, "lost")).create(f"{PREFIX}/configmaps/default/a", b"1")

    page = await reencrypt_page(await _encrypted(backend, tmp_path, "new"), PREFIX)

    assert (page.written, page.unreadable) == (0, ["configmaps/default/a"])
    assert _key_of(backend, "a") == b"lost"


async def test_loses_no_write_of_a_client(backend: MemoryBackend, tmp_path: Path) -> None:
    """Leave a value that a client has replaced since it was read."""

    class Overtaken:
        async def list(self, prefix: str, **how: Any) -> RangeResult:
            return await now.list(prefix, **how)

        async def update(self, key: str, value: bytes, *, expected: int) -> WriteResult:
            await now.update(key, b"client", expected=expected)
            return await now.update(key, value, expected=expected)

    await (await _encrypted(backend, tmp_path, "old")).create(f"{PREFIX}/configmaps/default/a", b"1")
    now = await _encrypted(backend, tmp_path, "new", "old")

    page = await reencrypt_page(cast("Backend", Overtaken()), PREFIX)

    assert page.written == 0
    pair, _ = await now.get(f"{PREFIX}/configmaps/default/a")
    assert pair is not None
    assert pair.value == b"client"
