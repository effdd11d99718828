"""Reads backups, and checks that they are complete."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from apiext.base.meta import time
from apiext.storage.backups.stored_pairs import BackupError, check_finished, offset_of, summarize
from apiext.storage.backups.stores import ETCD, MEMBERS, is_snapshot, open_copy
from apiext.tools.archives import DAMAGED, GZIP_MAGIC
from apiext.tools.backup.logical_pairs import LogicalPairs
from apiext.tools.backup.manifest import MANIFEST, BackupManifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.storage.backups.stored_pairs import StoredPairs

_READ_BYTES: Final = 1 << 20
_MAX_MANIFEST_BYTES: Final = 16 << 20
_DEFAULT_PREFIX: Final = "/registry"


class OpenedBackup:
    """A backup with its content, which is kept in a temporary folder while the backup is open."""

    def __init__(self, manifest: BackupManifest, pairs: StoredPairs, *, is_other_prefix: bool = False) -> None:
        self.manifest = manifest
        self.pairs = pairs
        self.is_other_prefix = is_other_prefix
        """Whether the caller reads keys below another prefix than the manifest describes."""


@contextmanager
def open_backup(path: Path, *, prefix: str | None = None) -> Iterator[OpenedBackup]:
    """Open a backup of apiext, or a snapshot of etcd. Check all checksums first.

    `prefix` is that of the keys in the backup; None for the recorded one.

    Raises:
        BackupError: the file cannot be read or unpacked, is not a backup, is incomplete or damaged, or its store was being restored.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(GZIP_MAGIC))
        is_copy_of_etcd = is_snapshot(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}") from error
    if is_copy_of_etcd:
        with _closing(open_copy(ETCD, path, prefix or _DEFAULT_PREFIX)) as pairs:
            yield OpenedBackup(_snapshot_manifest(path, prefix or _DEFAULT_PREFIX, pairs), pairs)
    elif start != GZIP_MAGIC:
        raise BackupError(f"{path} is not a backup of apiext or a snapshot of etcd, or its beginning is missing")
    else:
        with _temporary_folder(path) as folder:
            manifest = _unpack(path, Path(folder))
            is_other = prefix is not None and prefix != manifest.prefix
            manifest = replace(manifest, prefix=prefix or manifest.prefix)
            with _closing(_pairs(manifest, Path(folder), manifest.prefix)) as pairs:
                yield OpenedBackup(manifest, pairs, is_other_prefix=is_other)


def _temporary_folder(path: Path) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="apiext-backup-")
    except OSError as error:
        raise BackupError(f"{path} cannot be unpacked: {error.strerror}") from error


@contextmanager
def _closing(pairs: StoredPairs) -> Iterator[StoredPairs]:
    """Check pairs, yield them, and close them."""
    try:
        check_finished(pairs)
        yield pairs
    finally:
        pairs.close()


def _pairs(manifest: BackupManifest, folder: Path, prefix: str) -> StoredPairs:
    member = MEMBERS.get(manifest.store)
    return LogicalPairs(folder) if member is None else open_copy(manifest.store, folder / member, prefix)


def _snapshot_manifest(path: Path, prefix: str, pairs: StoredPairs) -> BackupManifest:
    """Describe a snapshot that etcd's own tools have made."""
    found = summarize(pairs)
    return BackupManifest(
        time=time.rfc3339(datetime.fromtimestamp(path.stat().st_mtime, UTC)),
        release="",
        store=ETCD,
        origin=f"snapshot {path}",
        prefix=prefix,
        revision=pairs.revision + offset_of(pairs),
        resources=found.resources,
        encrypted=found.encrypted,
    )


def _unpack(path: Path, folder: Path) -> BackupManifest:
    """Unpack an archive up to its last byte.

    Raises:
        BackupError: it is incomplete or damaged, or cannot be unpacked.
    """
    try:
        with gzip.open(path) as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
            manifest = BackupManifest.load(_first(tar))
            expected = {member.name: member for member in manifest.members}
            while (info := tar.next()) is not None:
                member, source = expected.pop(info.name, None), tar.extractfile(info)
                if member is None or source is None or "/" in info.name or info.size != member.size:
                    raise BackupError(f"it has an unexpected member {info.name}")
                size, digest = _copy(source, folder / member.name)
                if (size, digest) != (member.size, member.sha256):
                    raise BackupError(f"{member.name} differs from its checksum")
            if expected:
                raise BackupError(f"it lacks {', '.join(expected)}")
            while packed.read(_READ_BYTES):  # the end has gzip's checksum
                pass
    except BackupError as error:
        raise BackupError(f"{path} cannot be used: {error}") from error
    except DAMAGED as error:
        raise BackupError(f"{path} is incomplete or damaged: {error}") from error
    except OSError as error:
        raise BackupError(f"{path} cannot be unpacked in {folder.parent}: {error.strerror}") from error
    return manifest


def _first(tar: tarfile.TarFile) -> bytes:
    """Return the bytes of the manifest."""
    info = tar.next()
    source = tar.extractfile(info) if info is not None and info.name == MANIFEST and info.size <= _MAX_MANIFEST_BYTES else None
    if source is None:
        raise BackupError("it is not a backup of apiext")
    return source.read()


def _copy(source: IO[bytes], target: Path) -> tuple[int, str]:
    """Copy a member; return its size and digest."""
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as file:
        target.chmod(0o600)
        while part := source.read(_READ_BYTES):
            file.write(part)
            digest.update(part)
            size += len(part)
    return size, digest.hexdigest()
