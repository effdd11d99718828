"""Drops the renderings of views that are no longer used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from apiext.base.meta.steps import Steps
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry

_STEP: Final = 128
"""Entries per step."""


def forget(views: Iterable[object], entries: Iterable[StoredEntry], changes: Sequence[ObjectChange]) -> Steps[None]:
    """Drop the renderings that entries, and those of changes, have of some views."""
    past = (entry for change in changes for entry in (change.entry, change.previous) if entry is not None)
    for number, entry in enumerate(chain(entries, past), start=1):
        for view in views:
            entry.forget(view)
        if not number % _STEP:
            yield
