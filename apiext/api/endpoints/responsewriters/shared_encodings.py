"""Shares a list's encoding between equal responses while one of them is encoded or sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final
from weakref import WeakValueDictionary

from apiext.base.scheduling.tasks import SharedWork
from apiext.storage.interface import Item

_LEAST_ITEMS: Final = 100
"""Least number of items worth sharing. Shorter lists are encoded for each response."""


class EncodedItems(list[bytes]):
    """Encoded items of a list, or the whole list, in parts. A response must refer to it while it is sent."""

    __slots__ = ("__weakref__", "_items")

    def __init__(self, parts: Sequence[bytes], items: Sequence[Item]) -> None:
        super().__init__(parts)
        self._items = items


class SharedEncodings:
    """Encodes the same items in the same form once for all concurrent responses.

    "The same items" means the same sequence object, which must not change.
    """

    __slots__ = ("_made", "_work")

    def __init__(self) -> None:
        self._made: WeakValueDictionary[Hashable, EncodedItems] = WeakValueDictionary()
        self._work: SharedWork[EncodedItems] = SharedWork()

    async def encoded(self, items: Sequence[Item], form: Hashable, encode: Callable[[], Awaitable[Sequence[bytes]]]) -> EncodedItems:
        """Return the items in a form, made by `encode`. Raises its errors."""
        if len(items) < _LEAST_ITEMS:
            return EncodedItems(await encode(), items)
        # the entry refers to the items, so no other list gets the same id
        key = (id(items), form)
        found = self._made.get(key)
        if found is None:

            async def work() -> EncodedItems:
                return EncodedItems(await encode(), items)

            found = self._made[key] = await self._work.run(key, work)
        return found
