"""Totals of the stored objects of one resource."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from apiext.base.meta.steps import Steps

if TYPE_CHECKING:
    from apiext.storage.rendering.object_change import ObjectChange
    from apiext.storage.rendering.stored_entry import StoredEntry

_STEP: Final = 64
"""Entries counted at once."""


class StoredTotals:
    """The number of entries by apiVersion, and their bytes in total."""

    __slots__ = ("api_versions", "stored_bytes")

    def __init__(self) -> None:
        self.api_versions: dict[str, int] = {}
        """The number of entries by the apiVersion in their stored bytes."""
        self.stored_bytes = 0

    @classmethod
    def steps(cls, entries: Iterable[StoredEntry]) -> Steps[StoredTotals]:
        """Return the totals of entries."""
        totals = cls()
        for number, entry in enumerate(entries):
            totals.stored_bytes += entry.stored_bytes
            totals._version(entry.api_version, 1)
            if not number % _STEP:
                yield
        return totals

    def apply(self, change: ObjectChange) -> None:
        """Count a change."""
        before, after = change.previous, change.entry
        if before is not None:
            self.stored_bytes -= before.stored_bytes
        if after is not None:
            self.stored_bytes += after.stored_bytes
        if before is not None and after is not None and before.api_version == after.api_version:
            return
        if after is not None:
            self._version(after.api_version, 1)
        if before is not None:
            self._version(before.api_version, -1)

    def _version(self, api_version: str, difference: int) -> None:
        count = self.api_versions.get(api_version, 0) + difference
        if count:
            self.api_versions[api_version] = count
        else:
            del self.api_versions[api_version]
