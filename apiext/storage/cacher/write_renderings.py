"""Renderings of writes, for the entries of their events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apiext.storage.interface import Item
from apiext.storage.rendering.renderer import at_revision
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView


class WriteRenderings:
    """Keeps renderings of writes until their events arrive. An event may precede the end of its write."""

    __slots__ = ("_expected", "_made")

    def __init__(self) -> None:
        self._made: dict[str, tuple[VersionView, Item]] = {}
        self._expected: dict[tuple[str, bytes], tuple[VersionView, Item]] = {}

    def add(self, view: VersionView, item: Item) -> None:
        """Keep the rendering of a write whose event has not arrived."""
        self._made[item.key] = (view, item)

    @contextmanager
    def expected(self, view: VersionView, raw: bytes, draft: Item) -> Iterator[None]:
        """Use a rendering without resourceVersion for an event with these stored bytes that comes within the block."""
        what = draft.key, raw
        self._expected[what] = (view, draft)
        try:
            yield
        finally:
            self._expected.pop(what, None)

    def give(self, entry: StoredEntry) -> None:
        """Let an entry of an event adopt the rendering of its write, if there is one."""
        made = self._made.get(entry.key)
        if made is not None and made[1].revision == entry.revision:
            entry.adopt(*made)
        elif self._expected and (draft := self._expected.get((entry.key, entry.raw))) is not None:
            entry.adopt(draft[0], at_revision(draft[1], entry.revision))

    def drop(self, reached: int) -> None:
        """Drop the renderings of writes up to a revision: their events have arrived."""
        if self._made:
            self._made = {key: made for key, made in self._made.items() if made[1].revision > reached}
