"""The error of backups and restorations."""

from __future__ import annotations


class BackupError(Exception):
    """A backup or a restoration failed. The message is one line with the reason."""
