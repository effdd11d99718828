"""Restores backups into stores and servers."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext import __version__
from apiext.server.composition.storage_backend import describe_storage, store_file
from apiext.storage import keys
from apiext.storage.backend import BackendError
from apiext.tools.backup.errors import BackupError
from apiext.tools.backup.etcd_target import EtcdTarget
from apiext.tools.backup.selection import SelectedPairs
from apiext.tools.backup.server_target import ServerTarget
from apiext.tools.backup.sqlite_target import restore_file

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from apiext.base.webhook.client import WebhookClient
    from apiext.server.options.options import StorageOptions
    from apiext.tools.backup.archive_reader import OpenedBackup
    from apiext.tools.backup.server_target import ServerOutcome


@dataclass(frozen=True, slots=True)
class Restored:
    """The outcome of a restoration into a store."""

    count: int
    """Number of restored keys."""
    store: str
    """Description of the store."""
    replaced: Path | None = None
    """Where the previous embedded store is kept."""


async def restore_store(
    backup: OpenedBackup, options: StorageOptions, groups: Collection[str] = (), *, replace: bool = False, now: float | None = None
) -> Restored:
    """Restore a backup, or some groups of it, as the content of a store. `now` is the time in seconds since 1970, by default the clock's.

    Raises:
        BackupError: the backup cannot be restored there, a server uses the store, or the store refuses.
    """
    moment = clock.time() if now is None else now
    manifest, selected = backup.manifest, SelectedPairs(backup.pairs, groups)
    selected.check(may_decrypt=keys.root(manifest.prefix) == keys.root(options.prefix))
    store = describe_storage(options)
    if options.etcd is None:
        done = restore_file(store_file(options), options.prefix, selected.pairs(), highest=manifest.revision, now=moment, replace=replace)
        return Restored(done.count, store, done.replaced)
    # only etcd needs protobuf, which loads slowly
    from apiext.storage.etcd.backend import EtcdBackend

    try:
        backend = await EtcdBackend.connect(options.etcd)
    except BackendError as error:
        raise BackupError(str(error)) from error
    try:
        count = await EtcdTarget(backend, options.prefix, __version__).restore(manifest, selected, now=moment, replace=replace)
    finally:
        await backend.close()
    return Restored(count, store)


async def restore_server(
    backup: OpenedBackup, client: WebhookClient, groups: Collection[str] = (), *, replace: bool = False
) -> ServerOutcome:
    """Restore the custom resources of a backup, or of some groups of it, that a running server of apiext lacks.

    With `replace`, objects that differ are replaced, too. Objects that the backup lacks stay.

    Raises:
        BackupError: the backup has encrypted values, or the server does not answer, is not apiext or refuses a definition.
    """
    selected = SelectedPairs(backup.pairs, groups)
    selected.check(may_decrypt=False)
    return await ServerTarget(client, replace=replace).restore(selected.pairs)
