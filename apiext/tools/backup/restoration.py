"""Restores backups into stores and servers."""

from __future__ import annotations

import hashlib
import time as clock
from typing import TYPE_CHECKING

from apiext import __version__
from apiext.tools.backup.selection import SelectedPairs
from apiext.tools.backup.server_target import ServerTarget

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.base.webhook.client import WebhookClient
    from apiext.storage.backups.stores import RestoredStore, WholeStore
    from apiext.tools.backup.archive_reader import OpenedBackup
    from apiext.tools.backup.manifest import BackupManifest
    from apiext.tools.backup.server_target import ServerOutcome


async def restore_store(
    backup: OpenedBackup, store: WholeStore, groups: Collection[str] = (), *, replace: bool = False, now: float | None = None
) -> RestoredStore:
    """Restore a backup, or some groups of it, as the content of a store. `now` is the time in seconds since 1970, by default the clock's.

    Raises:
        BackupError: the backup cannot be restored there, a server uses the store, or the store refuses.
    """
    moment = clock.time() if now is None else now
    manifest, selected = backup.manifest, SelectedPairs(backup.pairs, groups)
    selected.check(may_decrypt=store.has_keys_of(manifest.prefix))
    return await store.restore(
        selected.pairs(),
        identity=_identity(manifest, selected.groups),
        release=__version__,
        highest=manifest.revision,
        now=moment,
        replace=replace,
    )


def _identity(manifest: BackupManifest, groups: Collection[str]) -> str:
    """Return what distinguishes a part of a backup from other parts and other backups."""
    return hashlib.sha256(b"".join((manifest.dump(), *(f"{group}\n".encode() for group in sorted(groups))))).hexdigest()


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
