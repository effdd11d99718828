"""Encodings of lists that equal responses share while one of them is made or sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final
from weakref import WeakValueDictionary

from apiext.scheduling.tasks import SharedWork
from apiext.storage.interface import Item

_LEAST_ITEMS: Final = 100
"""Items of a list that is worth a task; shorter ones are encoded for each response."""


class EncodedItems(list[bytes]):
    """The encoded items of a list, or the whole list, in parts. A response must refer to it while it is sent."""

    __slots__ = ("__weakref__", "_items")

    def __init__(self, parts: Sequence[bytes], items: Sequence[Item]) -> None:
        super().__init__(parts)
        self._items = items


class SharedEncodings:
    """Encodes the same items in the same form once for all responses that need them at the same time.

    Items are the same if they are the same sequence, which must not change.
    """

    __slots__ = ("_made", "_work")

    def __init__(self) -> None:
        self._made: WeakValueDictionary[Hashable, EncodedItems] = WeakValueDictionary()
        self._work: SharedWork[EncodedItems] = SharedWork()

    async def encoded(self, items: Sequence[Item], form: Hashable, encode: Callable[[], Awaitable[Sequence[bytes]]]) -> EncodedItems:
        """Return the items in a form; `encode` makes it. Raises what `encode` raises."""
        if len(items) < _LEAST_ITEMS:
            return EncodedItems(await encode(), items)
        # what is kept under an identity refers to the items, so that no others have it
        key = (id(items), form)
        found = self._made.get(key)
        if found is None:

            async def work() -> EncodedItems:
                return EncodedItems(await encode(), items)

            found = self._made[key] = await self._work.run(key, work)
        return found
