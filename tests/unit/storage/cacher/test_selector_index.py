"""Indexes of items by label and field."""

from collections.abc import Sequence

from apiext.base.meta.steps import at_once
from apiext.storage.cacher.selector_indexes import SelectorIndex
from apiext.storage.interface import Item


def _item(key: str, **labels: str) -> Item:
    return Item(key=key, revision=1, data=b"{}", labels=labels, fields={})


def _tier(item: Item) -> str | None:
    return item.labels.get("tier")


def _index(*items: Item) -> SelectorIndex:
    index = SelectorIndex(_tier)
    at_once(index.fill(items))
    return index


def _found(index: SelectorIndex, *values: str) -> Sequence[Item]:
    found = index.items(values)
    assert found is not None
    return found


def _keys(index: SelectorIndex, *values: str) -> list[str]:
    return [item.key for item in _found(index, *values)]


def test_returns_items_by_value() -> None:
    """Return the items with a value in order, without those that lack the label."""
    index = _index(_item("a", tier="x"), _item("b", tier="y"), _item("c"), _item("d", tier="x"))

    assert (_keys(index, "x"), _keys(index, "y"), _keys(index, "z")) == (["a", "d"], ["b"], [])


def test_applies_changes() -> None:
    """Add, change, move and remove items in order."""
    index = _index(old := _item("b", tier="x"), _item("d", tier="x"))

    index.replace(None, new := _item("c", tier="x"))
    index.replace(None, _item("a", other="x"))
    assert _keys(index, "x") == ["b", "c", "d"]

    index.replace(old, again := _item("b", tier="x"))
    assert _found(index, "x")[0] is again

    index.replace(new, moved := _item("c", tier="y"))
    assert (_keys(index, "x"), _keys(index, "y")) == (["b", "d"], ["c"])

    index.replace(moved, None)
    assert _keys(index, "y") == []


def test_keeps_returned_lists() -> None:
    """Leave returned lists unchanged."""
    index = _index(old := _item("b", tier="x"))
    before = _found(index, "x")

    index.replace(old, None)
    index.replace(None, _item("a", tier="x"))

    assert list(before) == [old]


def test_merges_the_items_of_several_values() -> None:
    """Return the items with one of several values in order, unless they are many."""
    index = _index(_item("a", tier="x"), _item("b", tier="y"), _item("c", tier="z"), _item("d", tier="x"))
    assert _keys(index, "x", "y", "unknown") == ["a", "b", "d"]

    many = _index(*(_item(f"{number:04}", tier="xy"[number % 2]) for number in range(1000)))
    assert many.items(("x", "y")) is None
    assert len(_found(many, "x", "z")) == 500
