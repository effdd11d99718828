"""Checks the manifest of a backup against its content."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.backup.errors import BackupError
from apiext.backup.stored_pairs import summarize

if TYPE_CHECKING:
    from apiext.backup.archive_reader import OpenedBackup
    from apiext.backup.manifest import BackupManifest


def verified(backup: OpenedBackup) -> BackupManifest:
    """Return the manifest of an opened backup after checking it against every key. Below another prefix, return the counts found there.

    Raises:
        BackupError: the content differs from the manifest, or is damaged.
    """
    manifest, found = backup.manifest, summarize(backup.pairs)
    if not backup.is_other_prefix and (dict(found.resources), found.encrypted) != (dict(manifest.resources), manifest.encrypted):
        raise BackupError("the content of the backup differs from its manifest")
    return replace(manifest, resources=found.resources, encrypted=found.encrypted)
