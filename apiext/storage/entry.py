"""A stored object and its renderings: each view renders it once, on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage.interface import CorruptObjectError, Item
from apiext.storage.rendering import at_revision, with_revision, without_revision

if TYPE_CHECKING:
    from apiext.storage.rendering import Renderer
    from apiext.storage.view import View


class Entry:
    """An object at one revision. Immutable, except for its cached renderings.

    The stored bytes are dropped when they can be restored from a rendering; an entry then costs about the size of its JSON.
    """

    __slots__ = ("_item", "_more", "_raw", "_view", "key", "revision")

    def __init__(self, key: str, revision: int, raw: bytes) -> None:
        self.key = key
        self.revision = revision
        self._raw: bytes | None = raw
        self._view: View | None = None
        self._item: Item | None = None
        self._more: dict[View, Item] | None = None

    @property
    def raw(self) -> bytes:
        """Return the plain stored bytes.

        Raises:
            CorruptObjectError: the transformer rejected them.
        """
        if self._raw is not None:
            return self._raw
        raw = without_revision(self._item) if self._item is not None else None
        if raw is None:
            raise AssertionError("an entry without stored bytes has a rendering that holds them")
        return raw

    @property
    def size(self) -> int:
        """Return the approximate bytes of the entry."""
        size = len(self._raw) if self._raw is not None else 0
        return size + (len(self._item.data) if self._item is not None else 0)

    def cached(self, view: View) -> Item | None:
        """Return the cached rendering of a view, or None."""
        if self._view is view:
            return self._item
        return self._more.get(view) if self._more is not None else None

    def item(self, view: View) -> Item:
        """Return the rendering of a view.

        Raises:
            CorruptObjectError: the object cannot be decoded.
        """
        if self._view is view and self._item is not None:
            return self._item
        item = self._more.get(view) if self._more is not None else None
        return item if item is not None else self.adopt(view, view.render(self.key, self.raw, self.revision))

    def adopt(self, view: View, item: Item) -> Item:
        """Cache a rendering made from the same bytes."""
        if self._view is None:
            raw = self.raw
            self._view, self._item = view, item
            self._raw = None if without_revision(item) == raw else raw
        else:
            self._more = self._more or {}
            self._more[view] = item
        return item

    def at(self, view: View, revision: int) -> Item:
        """Return the object with another resourceVersion, as in a DELETED event.

        Raises:
            CorruptObjectError: the object cannot be decoded.
        """
        if self._raw is None and self._view is view and self._item is not None:
            return with_revision(self._item, revision)
        if not view.inline:
            return at_revision(self.item(view), revision)
        return view.render(self.key, self.raw, revision)

    def forget(self, view: View) -> None:
        """Drop the rendering of a view."""
        if self._more is not None:
            self._more.pop(view, None)
            self._more = self._more or None
        if self._view is view:
            self._view = None
            if self._raw is not None:
                self._item = None


class CorruptEntry(Entry):
    """A value that the transformer rejected. Every access raises the error; other entries are not affected."""

    __slots__ = ("_error",)

    def __init__(self, key: str, revision: int, error: CorruptObjectError) -> None:
        super().__init__(key, revision, b"")
        self._error = error

    @property
    def raw(self) -> bytes:
        """Raise the transformer's error.

        Raises:
            CorruptObjectError: always.
        """
        raise CorruptObjectError(self._error.key, self._error.message)


def read(renderer: Renderer, key: str, value: bytes, revision: int) -> Entry:
    """Return the entry for a stored value, under its relative key."""
    try:
        return Entry(key, revision, renderer.open(key, value)[0])
    except CorruptObjectError as error:
        return CorruptEntry(key, revision, error)
