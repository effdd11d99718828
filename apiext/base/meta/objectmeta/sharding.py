"""Shard selectors: parts of a collection by the hash of a metadata field (apimachinery pkg/sharding)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

UID: Final = "object.metadata.uid"
NAMESPACE: Final = "object.metadata.namespace"
SHARD_FIELDS: Final = (UID, NAMESPACE)
"""The fields by which a collection can be divided."""
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1
_CACHED_NAMESPACES: Final = 1024


def shard_hash(value: str) -> int:
    """Return the 64-bit FNV-1a hash of a field's value."""
    found = _OFFSET
    for byte in value.encode(errors="replace"):
        found = (found ^ byte) * _PRIME & _MASK
    return found


namespace_hash: Final = lru_cache(maxsize=_CACHED_NAMESPACES)(shard_hash)
"""Return the hash of a namespace, of which there are few."""


class ShardSelector:
    """Selects the objects with a field whose hash is in one of several ranges. The time does not depend on the number of ranges."""

    __slots__ = ("_bounds", "field", "ranges", "text")

    def __init__(self, field: str, ranges: Sequence[tuple[int, int]]) -> None:
        """Create a selector: `ranges` have the first hash, and the one after the last."""
        self.field = field
        """One of SHARD_FIELDS."""
        self.ranges = tuple(ranges)
        self.text = " || ".join(f"shardRange({field}, '0x{first:016x}', '0x{end:016x}')" for first, end in ranges)
        """The selector as the reference writes it in answers. Selectors are equal if their texts are."""
        self._bounds = _merged(self.ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardSelector) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def contains(self, value: int) -> bool:
        """Report whether objects with a hash are selected."""
        return bisect_right(self._bounds, value) & 1 == 1


def _merged(ranges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the bounds of disjoint ranges that cover the same hashes, in order."""
    bounds: list[int] = []
    for first, end in sorted(ranges):
        if bounds and first <= bounds[-1]:
            bounds[-1] = max(bounds[-1], end)
        else:
            bounds += (first, end)
    return bounds
