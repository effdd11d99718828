"""Shard selectors."""

import random

import pytest

from apiext.base.meta.objectmeta.sharding import NAMESPACE, UID, ShardSelector, namespace_hash, shard_hash


@pytest.mark.parametrize(
    "value, expected",
    [
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
        ("é", 0x0AC21707B7181E01),
    ],
)
def test_hashes(value: str, expected: int) -> None:
    """Return the 64-bit FNV-1a hash of the bytes in UTF-8."""
    assert shard_hash(value) == namespace_hash(value) == expected


def test_contains() -> None:
    """Include the first hash of each range and exclude its end."""
    shard = ShardSelector(UID, ((0, 5), (7, 2**64)))

    assert [shard.contains(value) for value in (0, 4, 5, 6, 7, 2**64 - 1)] == [True, True, False, False, True, True]


def test_contains_overlapping_ranges() -> None:
    """Include what is in any of many ranges, in any order."""
    chance = random.Random(5)  # noqa: S311 -- the same choices on every run
    for _ in range(50):
        ranges = [(first, first + chance.randrange(1, 9)) for first in (chance.randrange(60) for _ in range(chance.randrange(1, 9)))]
        shard = ShardSelector(UID, ranges)

        assert [shard.contains(value) for value in range(70)] == [any(first <= value < end for first, end in ranges) for value in range(70)]


def test_equal_selectors() -> None:
    """Distinguish selectors by field and ranges."""
    one = ShardSelector(UID, ((0, 5),))

    assert one == ShardSelector(UID, [(0, 5)])
    assert len({one, ShardSelector(UID, ((0, 5),)), ShardSelector(NAMESPACE, ((0, 5),)), ShardSelector(UID, ((0, 6),))}) == 3


def test_text() -> None:
    """Write bounds with 16 digits, and the end of all hashes with 17."""
    shard = ShardSelector(NAMESPACE, ((0, 255), (2**63, 2**64)))

    assert shard.text == (
        "shardRange(object.metadata.namespace, '0x0000000000000000', '0x00000000000000ff')"
        " || shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')"
    )
