"""One object as it is stored, with its renderings: made when asked for, once for each view, and shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage.interface import CorruptObjectError, Item
from apiext.storage.rendering import with_revision, without_revision

if TYPE_CHECKING:
    from apiext.storage.rendering import Renderer
    from apiext.storage.view import View


class Entry:
    """An object at one revision. Never changes, but for the renderings it keeps.

    The stored bytes are let go when a rendering holds the same and can give them back: then an entry costs about the
    size of its JSON once.
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
        """The plain stored bytes; raises CorruptObjectError when the transformer refused them."""
        if self._raw is not None:
            return self._raw
        raw = without_revision(self._item) if self._item is not None else None
        if raw is None:
            raise AssertionError("an entry without stored bytes has a rendering that holds them")
        return raw

    @property
    def size(self) -> int:
        """About the bytes it holds."""
        size = len(self._raw) if self._raw is not None else 0
        return size + (len(self._item.data) if self._item is not None else 0)

    def ready(self, view: View) -> Item | None:
        """The rendering of a view, if there is one."""
        if self._view is view:
            return self._item
        return self._more.get(view) if self._more is not None else None

    def item(self, view: View) -> Item:
        """The rendering of a view; raises CorruptObjectError."""
        if self._view is view and self._item is not None:
            return self._item
        item = self._more.get(view) if self._more is not None else None
        return item if item is not None else self.adopt(view, view.render(self.key, self.raw, self.revision))

    def adopt(self, view: View, item: Item) -> Item:
        """Keep a rendering made from these very bytes."""
        if self._view is None:
            raw = self.raw
            self._view, self._item = view, item
            self._raw = None if without_revision(item) == raw else raw
        else:
            self._more = self._more or {}
            self._more[view] = item
        return item

    def at(self, view: View, revision: int) -> Item:
        """The object under another resourceVersion, as a deletion reports it; raises CorruptObjectError."""
        if self._raw is None and self._view is view and self._item is not None:
            return with_revision(self._item, revision)
        return view.render(self.key, self.raw, revision)

    def forget(self, view: View) -> None:
        """Let the rendering of a view go."""
        if self._more is not None:
            self._more.pop(view, None)
            self._more = self._more or None
        if self._view is view:
            self._view = None
            if self._raw is not None:
                self._item = None


class CorruptEntry(Entry):
    """A value that the transformer refused: whoever asks for it gets the error, nobody else is harmed."""

    __slots__ = ("_error",)

    def __init__(self, key: str, revision: int, error: CorruptObjectError) -> None:
        super().__init__(key, revision, b"")
        self._error = error

    @property
    def raw(self) -> bytes:
        """Raises the transformer's error."""
        raise CorruptObjectError(self._error.key, self._error.message)


def read(renderer: Renderer, key: str, value: bytes, revision: int) -> Entry:
    """A stored value as an entry under its relative key."""
    try:
        return Entry(key, revision, renderer.open(key, value)[0])
    except CorruptObjectError as error:
        return CorruptEntry(key, revision, error)
