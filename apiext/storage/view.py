"""The objects of a resource as one codec shows them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.meta.gvk import GroupVersionKind
    from apiext.storage.interface import Codec, Item
    from apiext.storage.rendering import Renderer


class View:
    """Renders entries with a codec.

    It does not keep its codec alive: whoever reads or watches through a view holds the codec.
    """

    __slots__ = ("__weakref__", "_codec", "_renderer", "gvk")

    def __init__(self, codec: Codec, renderer: Renderer, released: Callable[[View], None] | None = None) -> None:
        self.gvk: GroupVersionKind = codec.gvk
        self._renderer = renderer
        self._codec = self._reference(codec, released)

    def _reference(self, codec: Codec, released: Callable[[View], None] | None) -> Callable[[], Codec | None]:
        def release(_: object) -> None:
            if released is not None:
                released(self)

        return weakref.ref(codec, release)

    def render(self, key: str, raw: bytes, revision: int) -> Item:
        """Stored bytes as an item of this view's version; raises CorruptObjectError."""
        codec = self._codec()
        if codec is None:
            raise AssertionError("a view is used only while somebody holds its codec")
        return self._renderer.item(codec, key, raw, revision)
