"""Restores backups into stores and servers."""

from __future__ import annotations

import hashlib
import time as clock
from typing import TYPE_CHECKING, Final

from apiext import __version__
from apiext.storage.backups.stored_pairs import BackupError, contents, group_of, is_encrypted
from apiext.tools.backup.api_target import ApiTarget
from apiext.tools.backup.logical_pairs import KEYS_OF_DEFINITIONS
from apiext.tools.backup.server_target import ServerTarget

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from apiext.base.webhook.client import WebhookClient
    from apiext.storage.backups.stored_pairs import StoredPairs
    from apiext.storage.backups.stores import RestoredStore, WholeStore
    from apiext.tools.backup.archive_reader import OpenedBackup
    from apiext.tools.backup.manifest import BackupManifest
    from apiext.tools.backup.server_target import ServerOutcome


class SelectedPairs:
    """The keys to restore: all, or the definitions of some groups with their objects.

    Raises:
        BackupError: from every method, if the backup is damaged.
    """

    def __init__(self, pairs: StoredPairs, groups: Collection[str] = ()) -> None:
        self._pairs = pairs
        self.groups: Final = frozenset(groups)
        """The groups; empty for all."""

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Return keys, relative to the prefix, with their values."""
        return ((key, value) for key, value in contents(self._pairs) if not self.groups or self._is_selected(key))

    def _is_selected(self, key: str) -> bool:
        if key.startswith(KEYS_OF_DEFINITIONS):
            return key.removeprefix(KEYS_OF_DEFINITIONS).partition(".")[2] in self.groups
        return group_of(key) in self.groups

    def check(self, *, may_decrypt: bool) -> int:
        """Read all keys once. Return their number.

        `may_decrypt`: encrypted values can be read where they are restored. Most providers bind a value to its full key.

        Raises:
            BackupError: nothing is selected, or a value could never be decrypted.
        """
        count = 0
        for key, value in self.pairs():
            count += 1
            if not may_decrypt and is_encrypted(value):
                raise BackupError(
                    f"{key} is encrypted, and an encrypted value belongs to the prefix and the store that wrote it: "
                    "restore it below the same prefix into a store, or back up the objects from a server"
                )
        if not count:
            raise BackupError(f"the backup has nothing of {', '.join(sorted(self.groups)) or 'any resource'}")
        return count


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


async def restore_through_api(
    backup: OpenedBackup, client: WebhookClient, groups: Collection[str] = (), *, replace: bool = False
) -> ServerOutcome:
    """Write the custom resources of a backup, or of some groups of it, through the API of any server that has their definitions.

    With `replace`, objects that the server has are replaced. Objects that the backup lacks stay, and are named in the outcome.

    Raises:
        BackupError: the backup has encrypted values, or the server does not answer or lacks a definition.
    """
    selected = SelectedPairs(backup.pairs, groups)
    selected.check(may_decrypt=False)
    return await ApiTarget(client, replace=replace).restore(selected.pairs)
