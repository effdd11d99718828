"""The order in which Go's sort.Slice leaves equal items: pattern-defeating quicksort, which is not stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_SHORT: Final = 12
"""Greatest number of items that are sorted by insertion, which is stable."""
_MEDIUM: Final = 50
"""Number of items from which on a pivot is the median of medians, and few items out of order are moved."""
_PIVOT: Final = 8
"""Number of items from which on a pivot is a median."""
_MAX_MOVES: Final = 5
_MAX_SWAPS: Final = 12
_UINT64: Final = 0xFFFF_FFFF_FFFF_FFFF


def go_sort(items: list[T], less: Callable[[T, T], bool]) -> None:
    """Sort a list in place. The time is n log n comparisons."""
    _Sorter(items, less).sort(0, len(items), len(items).bit_length())


class _Sorter(Generic[T]):
    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self._items = items
        self._precedes = less
        self._swaps = 0
        """Swaps that the choice of a pivot has made."""

    def _less(self, left: int, right: int) -> bool:
        return self._precedes(self._items[left], self._items[right])

    def _swap(self, left: int, right: int) -> None:
        items = self._items
        items[left], items[right] = items[right], items[left]

    def sort(self, begin: int, end: int, limit: int) -> None:
        """Sort a range; after `limit` bad pivots with a heap."""
        balanced = partitioned = True
        while end - begin > _SHORT:
            if not limit:
                self._sort_by_heap(begin, end)
                return
            if not balanced:
                self._shuffle(begin, end)
                limit -= 1
            pivot = self._pivot(begin, end)
            if self._swaps == _MAX_SWAPS:
                self._items[begin:end] = self._items[begin:end][::-1]
                pivot = end - 1 - (pivot - begin)
                self._swaps = 0
            if balanced and partitioned and not self._swaps and self._insert_few(begin, end):
                return
            if begin and not self._less(begin - 1, pivot):
                begin = self._partition_equal(begin, end, pivot)
                continue
            middle, partitioned = self._partition(begin, end, pivot)
            threshold = (end - begin) // 8
            if middle - begin < end - middle:
                balanced = middle - begin >= threshold
                self.sort(begin, middle, limit)
                begin = middle + 1
            else:
                balanced = end - middle >= threshold
                self.sort(middle + 1, end, limit)
                end = middle
        for place in range(begin + 1, end):
            self._shift_left(place, begin)

    def _shift_left(self, place: int, first: int) -> None:
        while place > first and self._less(place, place - 1):
            self._swap(place, place - 1)
            place -= 1

    def _sort_by_heap(self, begin: int, end: int) -> None:
        size = end - begin
        for root in range((size - 1) // 2, -1, -1):
            self._sift_down(root, size, begin)
        for last in range(size - 1, -1, -1):
            self._swap(begin, begin + last)
            self._sift_down(0, last, begin)

    def _sift_down(self, root: int, size: int, begin: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self._less(begin + child, begin + child + 1):
                child += 1
            if not self._less(begin + root, begin + child):
                return
            self._swap(begin + root, begin + child)
            root = child

    def _shuffle(self, begin: int, end: int) -> None:
        """Move three items in the middle to places that only the length decides."""
        length = state = end - begin
        mask = (1 << length.bit_length()) - 1
        middle = begin + length // 4 * 2
        for place in range(middle - 1, middle + 2):
            state ^= state << 13 & _UINT64
            state ^= state >> 7
            state ^= state << 17 & _UINT64
            other = state & mask
            self._swap(place, begin + (other - length if other >= length else other))

    def _pivot(self, begin: int, end: int) -> int:
        """Return the place of a median."""
        self._swaps = 0
        length = end - begin
        low, middle, high = (begin + length // 4 * quarter for quarter in (1, 2, 3))
        if length >= _MEDIUM:
            low, middle, high = (self._median(place - 1, place, place + 1) for place in (low, middle, high))
        return self._median(low, middle, high) if length >= _PIVOT else middle

    def _median(self, low: int, middle: int, high: int) -> int:
        low, middle = self._ordered(low, middle)
        middle, high = self._ordered(middle, high)
        return self._ordered(low, middle)[1]

    def _ordered(self, left: int, right: int) -> tuple[int, int]:
        if self._less(right, left):
            self._swaps += 1
            return right, left
        return left, right

    def _partition(self, begin: int, end: int, pivot: int) -> tuple[int, bool]:
        """Move what precedes the pivot before it; return its new place, and whether nothing else had to move."""
        self._swap(begin, pivot)
        left, right, moved = begin + 1, end - 1, False
        while True:
            while left <= right and self._less(left, begin):
                left += 1
            while left <= right and not self._less(right, begin):
                right -= 1
            if left > right:
                self._swap(right, begin)
                return right, not moved
            self._swap(left, right)
            left, right, moved = left + 1, right - 1, True

    def _partition_equal(self, begin: int, end: int, pivot: int) -> int:
        """Move what equals the pivot before what is greater; return the place of the first greater item."""
        self._swap(begin, pivot)
        left, right = begin + 1, end - 1
        while True:
            while left <= right and not self._less(begin, left):
                left += 1
            while left <= right and self._less(begin, right):
                right -= 1
            if left > right:
                return left
            self._swap(left, right)
            left, right = left + 1, right - 1

    def _insert_few(self, begin: int, end: int) -> bool:
        """Sort a range in which few items are out of order; return whether it is sorted now."""
        place = begin + 1
        for _ in range(_MAX_MOVES):
            while place < end and not self._less(place, place - 1):
                place += 1
            if place == end:
                return True
            if end - begin < _MEDIUM:
                return False
            self._swap(place, place - 1)
            if place - begin > 1:
                self._shift_left(place - 1, 0)
            after = place + 1
            while after < end and self._less(after, after - 1):
                self._swap(after, after - 1)
                after += 1
        return False
