"""Copies of whole stores, and restorations from them, whatever kind the store is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.storage.backend import BackendError, describe_store
from apiext.storage.backups.bolt_file import is_bolt
from apiext.storage.backups.etcd_pairs import EtcdPairs
from apiext.storage.backups.etcd_target import EtcdTarget
from apiext.storage.backups.sqlite_pairs import SQLitePairs, copy_online
from apiext.storage.backups.sqlite_target import restore_file
from apiext.storage.backups.stored_pairs import BackupError
from apiext.storage.keys import root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from apiext.storage.backups.stored_pairs import StoredPairs
    from apiext.storage.etcd.config import EtcdConfig

ETCD: Final = "etcd"
SQLITE: Final = "sqlite"
MEMBERS: Final = {SQLITE: "store.db", ETCD: "etcd.snapshot"}
"""File names of copies by the kind of the store."""


@dataclass(frozen=True, slots=True)
class RestoredStore:
    """The outcome of a restoration into a store."""

    count: int
    """Number of restored keys."""
    store: str
    """Description of the store."""
    replaced: Path | None = None
    """Where the previous embedded store is kept."""


def is_snapshot(path: Path) -> bool:
    """Report whether a file is a copy of an etcd.

    Raises:
        OSError: it cannot be read.
    """
    return is_bolt(path)


def open_copy(kind: str, path: Path, prefix: str) -> StoredPairs:
    """Return the keys below a prefix in the copy of a store.

    Raises:
        BackupError: it is damaged.
    """
    return EtcdPairs(path, prefix) if kind == ETCD else SQLitePairs(path, prefix)


class WholeStore:
    """All keys of a store: of an etcd or, without one, of the file of an embedded store."""

    def __init__(self, file: Path, prefix: str, etcd: EtcdConfig | None = None) -> None:
        self._file = file
        self._etcd = etcd
        self.kind = ETCD if etcd is not None else SQLITE
        self.prefix = prefix

    def __str__(self) -> str:
        """Return a description of the store."""
        return describe_store(self._file, self.prefix, self._etcd.servers if self._etcd else None)

    def has_keys_of(self, prefix: str) -> bool:
        """Report whether keys below a prefix are the same full keys here. Most providers of encryption bind a value to its key."""
        return root(prefix) == root(self.prefix)

    async def copy(self, file: Path) -> StoredPairs:
        """Copy the store into a file, also while servers use it, and open the copy. Every write that was acknowledged before is in it.

        Raises:
            BackupError: the store cannot be read or copied.
        """
        if self._etcd is not None:
            return await _snapshot(self._etcd, self.prefix, file)
        copy_online(self._file, file)
        return SQLitePairs(file, self.prefix)

    async def restore(
        self, pairs: Iterator[tuple[str, bytes]], *, identity: str, release: str, highest: int, now: float, replace: bool = False
    ) -> RestoredStore:
        """Restore keys, relative to the prefix, as the content of the store. `now` is the time in seconds since 1970.

        `highest` is the highest revision that clients have seen of these keys, `identity` what tells them from others: an interrupted
        restoration of the same keys can be repeated. `release` is the version of apiext, for the records of other servers.

        Raises:
            BackupError: a server uses the store, it has other keys and `replace` is not set, or it refuses.
        """
        if self._etcd is None:
            done = restore_file(self._file, self.prefix, pairs, highest=highest, now=now, replace=replace)
            return RestoredStore(done.count, str(self), done.replaced)
        # only etcd needs protobuf, which loads slowly
        from apiext.storage.etcd.backend import EtcdBackend

        try:
            backend = await EtcdBackend.connect(self._etcd)
        except BackendError as error:
            raise BackupError(str(error)) from error
        try:
            count = await EtcdTarget(backend, self.prefix, release).restore(pairs, identity, highest=highest, now=now, replace=replace)
        finally:
            await backend.close()
        return RestoredStore(count, str(self))


async def _snapshot(config: EtcdConfig, prefix: str, copy: Path) -> EtcdPairs:
    # only etcd needs protobuf, which loads slowly
    from apiext.storage.etcd.maintenance import save_current_snapshot

    try:
        with copy.open("xb") as file:
            required = await save_current_snapshot(config, file.write)
    except OSError as error:
        raise BackupError(f"{copy} cannot be written: {error.strerror}") from error
    except BackendError as error:
        raise BackupError(f"etcd: {error}") from error
    pairs = EtcdPairs(copy, prefix)
    if pairs.revision < required:
        pairs.close()
        raise BackupError(f"the etcd member lags: its snapshot ends at revision {pairs.revision}, and {required} was acknowledged")
    return pairs
