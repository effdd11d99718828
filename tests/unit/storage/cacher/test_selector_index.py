"""Indexes of items by label and field."""

from apiext.storage.cacher.selector_index import SelectorIndex
from apiext.storage.interface import Item


def _item(key: str, **labels: str) -> Item:
    return Item(key=key, revision=1, data=b"{}", labels=labels, fields={})


def _tier(item: Item) -> str | None:
    return item.labels.get("tier")


def _keys(index: SelectorIndex, value: str) -> list[str]:
    return [item.key for item in index.items(value)]


def test_returns_items_by_value() -> None:
    """Return the items with a value in order, without those that lack the label."""
    index = SelectorIndex(_tier, [_item("a", tier="x"), _item("b", tier="y"), _item("c"), _item("d", tier="x")])

    assert (_keys(index, "x"), _keys(index, "y"), _keys(index, "z")) == (["a", "d"], ["b"], [])


def test_applies_changes() -> None:
    """Add, change, move and remove items in order."""
    index = SelectorIndex(_tier, [old := _item("b", tier="x"), _item("d", tier="x")])

    index.replace(None, new := _item("c", tier="x"))
    index.replace(None, _item("a", other="x"))
    assert _keys(index, "x") == ["b", "c", "d"]

    index.replace(old, again := _item("b", tier="x"))
    assert index.items("x")[0] is again

    index.replace(new, moved := _item("c", tier="y"))
    assert (_keys(index, "x"), _keys(index, "y")) == (["b", "d"], ["c"])

    index.replace(moved, None)
    assert _keys(index, "y") == []


def test_keeps_returned_lists() -> None:
    """Leave returned lists unchanged."""
    index = SelectorIndex(_tier, [old := _item("b", tier="x")])
    before = index.items("x")

    index.replace(old, None)
    index.replace(None, _item("a", tier="x"))

    assert list(before) == [old]
