"""Tests that names of shared objects have a bounded life."""

from collections import Counter

from hack.lib.soak.long.names import Names


def test_life() -> None:
    """End each name after a number of operations, once, and never hand it out again."""
    names = Names()
    taken, ended = Counter[str](), list[str]()
    for _ in range(5_000):
        name, last = names.take()
        assert name.text not in ended
        taken[name.text] += 1
        if last:
            ended.append(name.text)

    assert len(ended) > 50
    assert len({taken[name] for name in ended}) == 1
    assert {one.text for one in names.rest()} >= taken.keys() - set(ended)
    assert names.rest() == []


def test_operations_without_an_answer() -> None:
    """End a name early after operations without an answer, which make its history hard to check."""
    names = Names()
    first, _ = names.take()
    first.unknown = 2
    ended = next(name for name, last in iter(names.take, None) if last)

    assert ended is first


def test_values() -> None:
    """Give each value once."""
    names = Names()

    assert len({names.value() for _ in range(100)}) == 100
