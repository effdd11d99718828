"""Checks the manifest of a backup against its content."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.storage.backups.stored_pairs import BackupError, present_resource, summarize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.tools.backup.archive_reader import OpenedBackup
    from apiext.tools.backup.manifest import BackupManifest


def verified(backup: OpenedBackup) -> BackupManifest:
    """Return the manifest of an opened backup after checking it against every key. Below another prefix, return the counts found there.

    Raises:
        BackupError: the content differs from the manifest, or is damaged.
    """
    manifest, found = backup.manifest, summarize(backup.pairs)
    if not backup.is_other_prefix and (_counts(found.resources), found.encrypted) != (_counts(manifest.resources), manifest.encrypted):
        raise BackupError("the content of the backup differs from its manifest")
    return replace(manifest, resources=found.resources, encrypted=found.encrypted)


def _counts(resources: Mapping[str, int]) -> Counter[str]:
    """Return counts by resource, comparable with those of earlier releases."""
    counts: Counter[str] = Counter()
    for name, count in resources.items():
        counts[present_resource(name)] += count
    return counts
