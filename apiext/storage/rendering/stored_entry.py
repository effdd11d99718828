"""A stored object and its renderings."""

from __future__ import annotations

from apiext.storage import stored_object
from apiext.storage.errors import CorruptObjectError, EncryptedObjectError
from apiext.storage.interface import Item
from apiext.storage.rendering.renderer import Renderer, stored_size, without_revision


class StoredEntry:
    """An object at one revision. Immutable, except for its cached renderings, one for each view (`storage/rendering/version_view.py`).

    The stored bytes are dropped when they can be restored from a rendering; an entry then costs about the size of its JSON.
    """

    __slots__ = ("_api_version", "_item", "_more", "_raw", "_view", "key", "revision")

    def __init__(self, key: str, revision: int, raw: bytes) -> None:
        self.key = key
        self.revision = revision
        self._raw: bytes | None = raw
        self._view: object = None
        self._item: Item | None = None
        self._more: dict[object, Item] | None = None
        self._api_version: str | None = None

    @property
    def api_version(self) -> str:
        """Return the apiVersion in the stored bytes, read once; "" if there is none or they are encrypted."""
        if self._api_version is None:
            self._api_version = stored_object.api_version(self.raw)
        return self._api_version

    @property
    def raw(self) -> bytes:
        """Return the stored bytes.

        Raises:
            CorruptObjectError: they are encrypted.
        """
        if self._raw is not None:
            return self._raw
        raw = without_revision(self._item) if self._item is not None else None
        if raw is None:
            raise AssertionError("an entry without stored bytes has a rendering that holds them")
        return raw

    @property
    def stored_bytes(self) -> int:
        """Return the length of the stored bytes; 0 if they are encrypted."""
        if self._raw is None and self._item is not None:
            return stored_size(self._item)
        return len(self._raw or b"")

    @property
    def size(self) -> int:
        """Return the approximate bytes of the entry."""
        size = len(self._raw) if self._raw is not None else 0
        return size + (len(self._item.data) if self._item is not None else 0)

    def cached(self, view: object) -> Item | None:
        """Return the cached rendering of a view, or None."""
        if self._view is view:
            return self._item
        return self._more.get(view) if self._more is not None else None

    def is_stored_as_shown(self, view: object) -> bool:
        """Report whether the cached rendering of a view differs from the stored bytes in its resourceVersion only."""
        return self._view is view and self._raw is None

    def adopt(self, view: object, item: Item) -> Item:
        """Cache a rendering made from the same bytes."""
        if self._view is None:
            raw = self.raw
            self._view, self._item = view, item
            self._raw = None if without_revision(item) == raw else raw
        else:
            self._more = self._more or {}
            self._more[view] = item
        return item

    def forget(self, view: object) -> None:
        """Drop the rendering of a view."""
        if self._more is not None:
            self._more.pop(view, None)
            self._more = self._more or None
        if self._view is view:
            self._view = None
            if self._raw is not None:
                self._item = None


class EncryptedEntry(StoredEntry):
    """An encrypted value. Every access raises the error; other entries are not affected."""

    __slots__ = ("_error",)

    def __init__(self, key: str, revision: int, error: CorruptObjectError) -> None:
        super().__init__(key, revision, b"")
        self._error = error
        self._api_version = ""

    @property
    def raw(self) -> bytes:
        """Raise the error.

        Raises:
            EncryptedObjectError: always.
        """
        raise EncryptedObjectError(self._error.key, self._error.message)


def read(renderer: Renderer, key: str, value: bytes, revision: int) -> StoredEntry:
    """Return the entry for a stored value, under its relative key."""
    try:
        return StoredEntry(key, revision, renderer.open(key, value))
    except CorruptObjectError as error:
        return EncryptedEntry(key, revision, error)
