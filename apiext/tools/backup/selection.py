"""The part of a backup that is restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.storage.backups.stored_pairs import BackupError, contents, group_of, is_encrypted
from apiext.tools.backup.logical_pairs import KEYS_OF_DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from apiext.storage.backups.stored_pairs import StoredPairs


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
