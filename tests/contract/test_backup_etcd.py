"""Backups of a real etcd, and restorations into it: from and to embedded stores, below other prefixes, interrupted and repeated."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.server.composition.storage_backend import open_backend
from apiext.server.options.options import StorageOptions
from apiext.server.start_error import StartError
from apiext.storage.backend import BackendError, WriteResult
from apiext.storage.backups.sqlite_target import restore_file
from apiext.storage.backups.stored_pairs import BackupError
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.replicas.roll_call import Replicas
from apiext.storage.replicas.server_keys import is_record
from apiext.tools.backup.archive_reader import open_backup
from apiext.tools.backup.creation import back_up_store
from apiext.tools.backup.restoration import restore_store
from hack.lib.reference import binaries
from hack.lib.servers.etcd import Etcd
from tests.unit.tools.backup.stores import COUNTS, ENCRYPTED, VALUES, backed_up, content, embedded, fill, whole

NOW: Final = 1_800_000_000.0


@pytest.fixture
def options(etcd: Etcd, tmp_path: Path) -> StorageOptions:
    """Return an unused prefix of an etcd."""
    return in_etcd(etcd, tmp_path)


def in_etcd(etcd: Etcd, folder: Path) -> StorageOptions:
    """Return the options of a store below an unused prefix."""
    prefix = f"/{uuid.uuid4().hex}"
    return StorageOptions(data_dir=folder, etcd=EtcdConfig(servers=(etcd.url,), prefix=prefix), prefix=prefix)


@pytest.fixture
async def backend(etcd: Etcd) -> AsyncIterator[EtcdBackend]:
    """Return a connection to etcd."""
    connected = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,)))
    yield connected
    await connected.close()


def run(*command: str | Path, folder: Path) -> None:
    """Run a program in a folder."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


async def put(backend: EtcdBackend, prefix: str, values: dict[str, bytes]) -> None:
    """Write keys below a prefix."""
    await asyncio.gather(*(backend.create(f"{prefix}/{key}", value) for key, value in values.items()))


async def delete(backend: EtcdBackend, prefix: str, key: str) -> None:
    """Delete a key below a prefix."""
    pair, _ = await backend.get(f"{prefix}/{key}")
    assert pair is not None
    assert (await backend.delete(pair.key, expected=pair.revision)).succeeded


async def below(backend: EtcdBackend, prefix: str) -> dict[str, bytes]:
    """Return the keys below a prefix with their values, except for the record of the offset and companions."""
    found = await backend.list(f"{prefix}/")
    values = {pair.key.removeprefix(f"{prefix}/"): pair.value for pair in found.items}
    return {key: value for key, value in values.items() if not is_record(key) or key == "apiext/host"}


async def test_a_snapshot_has_the_latest_values(options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Hold the latest value of each key, no deleted one, and none of other prefixes; describe them. etcd's own tool accepts the member."""
    await put(backend, options.prefix, VALUES | {"example.com/widgets/default/gone": b"1", "example.com/widgets/default/large": b"1"})
    changed = {"example.com/widgets/default/large": b"x" * 1_000_000}
    for key, value in (("gone", None), ("large", changed["example.com/widgets/default/large"])):
        path = f"{options.prefix}/example.com/widgets/default/{key}"
        pair, _ = await backend.get(path)
        assert pair is not None
        written = backend.update(path, value, expected=pair.revision) if value else backend.delete(path, expected=pair.revision)
        assert (await written).succeeded
    await put(backend, f"{options.prefix}x", {"foreign": b"1"})
    revision = await backend.revision()
    manifest = await back_up_store(whole(options), tmp_path / "b.tar.gz")

    assert backed_up(tmp_path / "b.tar.gz") == VALUES | changed
    assert manifest.revision >= revision
    assert dict(manifest.resources) == COUNTS | {"widgets.example.com": 3}
    run("tar", "-xzf", "b.tar.gz", "etcd.snapshot", folder=tmp_path)
    run(binaries.binary("etcdutl"), "snapshot", "restore", "etcd.snapshot", "--data-dir=restored", folder=tmp_path)


async def test_a_cut_snapshot_is_noticed(options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Read a snapshot that etcd's own tool has saved, and refuse one that is cut or changed."""
    await put(backend, options.prefix, VALUES)
    assert options.etcd is not None
    run(binaries.binary("etcdctl"), f"--endpoints={options.etcd.servers[0]}", "snapshot", "save", "s.db", folder=tmp_path)
    whole = (tmp_path / "s.db").read_bytes()
    with open_backup(tmp_path / "s.db", prefix=options.prefix) as opened:
        assert dict(opened.pairs.pairs()) == VALUES
        assert dict(opened.manifest.resources) == COUNTS
    for length in (0, 100, 4096, 8192, len(whole) // 2, len(whole) - 33, len(whole) - 32, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        if length == len(whole) - 32:  # a copy of etcd's file has no digest
            continue
        with pytest.raises(BackupError), open_backup(tmp_path / "cut", prefix=options.prefix) as opened:
            opened.pairs.close()
    (tmp_path / "changed").write_bytes(whole[:5000] + b"\xff" + whole[5001:])
    with pytest.raises(BackupError), open_backup(tmp_path / "changed", prefix=options.prefix):
        pass


async def test_from_store_to_store(etcd: Etcd, options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Move content from SQLite to etcd, below another prefix, and back, with revisions that only grow."""
    await fill(tmp_path / "one")
    await back_up_store(whole(embedded(tmp_path / "one")), tmp_path / "1")
    other = in_etcd(etcd, tmp_path)
    revisions = []
    for number, (source, target) in enumerate([(None, options), (options, other), (other, embedded(tmp_path / "two"))], start=1):
        if source is not None:
            await back_up_store(whole(source), tmp_path / str(number))
        with open_backup(tmp_path / str(number)) as opened:
            done = await restore_store(opened, whole(target), now=NOW)
        assert done.count == len(VALUES)
        opened_store = await open_backend(target)
        revisions.append(await opened_store.revision())
        await opened_store.close()

    assert await below(backend, options.prefix) == await below(backend, other.prefix) == VALUES
    assert await content(tmp_path / "two") == VALUES
    assert revisions == sorted(set(revisions))
    assert revisions[0] > NOW * 1_000_000


async def test_encrypted_values_stay_below_their_prefix(etcd: Etcd, options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Restore encrypted values below their own prefix, and nowhere else."""
    await put(backend, options.prefix, {"secrets/default/s": ENCRYPTED})
    manifest = await back_up_store(whole(options), tmp_path / "b")
    other = in_etcd(etcd, tmp_path)
    with open_backup(tmp_path / "b") as opened:
        with pytest.raises(BackupError, match="encrypted"):
            await restore_store(opened, whole(other))
        await restore_store(opened, whole(options), replace=True)

    assert manifest.encrypted == 1
    assert await below(backend, other.prefix) == {}
    assert await below(backend, options.prefix) == {"secrets/default/s": ENCRYPTED}


class CutError(BackendError):
    """The end of a restoration."""


class Cut:
    """Fails all writes of a backend after some of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
        self.left = writes
        for name in ("create", "update", "delete"):
            monkeypatch.setattr(EtcdBackend, name, self._wrapped(getattr(EtcdBackend, name)))

    def _wrapped(self, real: Any) -> Any:
        async def write(*given: Any, **named: Any) -> WriteResult:
            if not self.left:
                raise CutError("cut")
            self.left -= 1
            result: WriteResult = await real(*given, **named)
            return result

        return write


@pytest.mark.parametrize("replace", [False, True])
async def test_interrupted_restorations(
    options: StorageOptions, backend: EtcdBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, replace: bool
) -> None:
    """Refuse servers until a restoration ends, whichever write was its last, and complete it when it is repeated."""
    await fill(tmp_path / "one")
    await back_up_store(whole(embedded(tmp_path / "one")), tmp_path / "b")
    if replace:
        await put(backend, options.prefix, {"example.com/widgets/default/old": b"1", "example.com/widgets/default/a": b"2"})
    with open_backup(tmp_path / "b") as opened:
        for writes in range(1, 40):
            with monkeypatch.context() as patched:
                cut = Cut(patched, writes)
                try:
                    await restore_store(opened, whole(options), replace=replace and writes == 1, now=NOW + writes)
                    break
                except BackupError as error:
                    assert "cut" in str(error)  # noqa: PT017 -- the last round succeeds
            assert cut.left == 0
            with pytest.raises(StartError, match="repeat apiext restore"):
                await open_backend(options)

    assert writes > 1
    assert await below(backend, options.prefix) == VALUES
    served = await open_backend(options)
    assert await served.revision() > NOW * 1_000_000
    await served.close()


async def test_another_part_does_not_complete_a_restoration(
    options: StorageOptions, backend: EtcdBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse to complete an interrupted restoration with another part of the backup: some of its keys would be missing."""
    await fill(tmp_path / "one")
    await back_up_store(whole(embedded(tmp_path / "one")), tmp_path / "b")
    with open_backup(tmp_path / "b") as opened:
        with monkeypatch.context() as patched:
            Cut(patched, 4)
            with pytest.raises(BackupError, match="cut"):
                await restore_store(opened, whole(options), now=NOW)
        assert "other.io/gadgets/x" not in await below(backend, options.prefix)
        with pytest.raises(BackupError, match="--replace"):
            await restore_store(opened, whole(options), ("example.com",), now=NOW)
        with pytest.raises(StartError, match="repeat apiext restore"):
            await open_backend(options)
        await restore_store(opened, whole(options), now=NOW)

    assert await below(backend, options.prefix) == VALUES


async def test_two_restorations_at_once(
    options: StorageOptions, backend: EtcdBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End a restoration with an error once another one has ended: what servers have written since then stays."""
    await fill(tmp_path / "one")
    await back_up_store(whole(embedded(tmp_path / "one")), tmp_path / "b")
    key, create = "other.io/gadgets/x", EtcdBackend.create

    async def create_late(this: EtcdBackend, name: str, *given: Any, **named: Any) -> WriteResult:
        if name == f"{options.prefix}/{key}":
            patched.undo()
            with open_backup(tmp_path / "b") as other:
                await restore_store(other, whole(options), now=NOW + 1)
            await delete(backend, options.prefix, key)
            await put(backend, options.prefix, {key: b"changed"})
        return await create(this, name, *given, **named)

    with monkeypatch.context() as patched, open_backup(tmp_path / "b") as opened:
        patched.setattr(EtcdBackend, "create", create_late)
        with pytest.raises(BackupError, match="another restoration"):
            await restore_store(opened, whole(options), now=NOW)

    assert await below(backend, options.prefix) == VALUES | {key: b"changed"}
    served = await open_backend(options)
    assert await served.revision() > (NOW + 1) * 1_000_000
    await served.close()


async def test_a_killed_restoration(options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Kill the command while it writes: no server starts on the prefix until the command is repeated and ends."""
    values = {f"example.com/widgets/default/{number:05}": b"x" * 2000 for number in range(3000)}
    await write_backup(tmp_path, values)
    assert options.etcd is not None
    flags = [str(tmp_path / "b"), f"--etcd-servers={options.etcd.servers[0]}", f"--etcd-prefix={options.prefix}"]
    async with contextlib.aclosing(backend.watch(f"{options.prefix}/example.com/")) as batches:
        await anext(batches)
        command = await asyncio.create_subprocess_exec(sys.executable, "-m", "apiext", "restore", *flags)
        async with asyncio.timeout(60):
            await anext(batches)
        command.kill()
        assert await command.wait() == -signal.SIGKILL
    with pytest.raises(StartError, match="repeat apiext restore"):
        await open_backend(options)
    again = await asyncio.create_subprocess_exec(sys.executable, "-m", "apiext", "restore", *flags)

    assert await again.wait() == 0
    assert await below(backend, options.prefix) == values
    await (await open_backend(options)).close()


async def write_backup(folder: Path, values: dict[str, bytes]) -> None:
    """Write the backup of a store with many keys."""
    restore_file(folder / "two" / "apiext.db", "/registry", values.items(), highest=1, now=NOW)
    await back_up_store(whole(embedded(folder / "two")), folder / "b")


async def test_prefixes_in_use(options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Refuse a prefix with other keys, and, also with `replace`, one that a server of apiext or a kube-apiserver uses."""
    await fill(tmp_path / "one")
    await back_up_store(whole(embedded(tmp_path / "one")), tmp_path / "b")
    await put(backend, options.prefix, {"example.com/widgets/default/old": b"1"})

    async def refusal(*, replace: bool) -> str:
        with open_backup(tmp_path / "b") as opened, pytest.raises(BackupError) as error:
            await restore_store(opened, whole(options), replace=replace)
        return str(error.value)

    assert "--replace" in await refusal(replace=False)
    server = Replicas(backend, options.prefix, address="https://server:1", release="x", encodings=dict, is_sole=False)
    await server.start()
    assert "servers use" in (found := await refusal(replace=True))
    assert "https://server:1" in found
    await server.close()
    for key in ("masterleases/10.0.0.1", "peerserverleases/apiserver-x"):
        await put(backend, options.prefix, {key: b"k8s"})
        assert "a kube-apiserver uses" in await refusal(replace=True)
        await delete(backend, options.prefix, key)
    assert (await below(backend, options.prefix))["example.com/widgets/default/old"] == b"1"


async def test_a_restored_prefix_serves_earlier_releases(options: StorageOptions, backend: EtcdBackend, tmp_path: Path) -> None:
    """Show an earlier release, at the former place, the restoration as long as it runs, and the offset after it."""
    await put(backend, options.prefix, VALUES)
    await back_up_store(whole(options), tmp_path / "b.tar.gz")
    seen, create = list[list[str]](), EtcdBackend.create

    async def observed(self: EtcdBackend, key: str, value: bytes, **more: Any) -> WriteResult:
        if key.endswith("/namespaces/default"):
            records = await self.list(f"{options.prefix}/apiext.dev/")
            seen.append([pair.key.removeprefix(f"{options.prefix}/") for pair in records.items])
        return await create(self, key, value, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EtcdBackend, "create", observed)
        with open_backup(tmp_path / "b.tar.gz") as opened:
            await restore_store(opened, whole(options), replace=True, now=NOW)
    found = {pair.key.removeprefix(f"{options.prefix}/"): pair.value for pair in (await backend.list(f"{options.prefix}/")).items}

    assert seen == [["apiext.dev/restore"]]
    assert found.keys() >= {"apiext.dev/revision-base", "apiext/revision-base", "apiext/host"}
    assert found["apiext.dev/revision-base"] == found["apiext/revision-base"]
    assert not found.keys() & {"apiext/restore", "apiext.dev/restore", "apiext.dev/host"}
