"""Indexes of items by label and field."""

from apiext.storage.cacher.selector_index import FieldIndex, LabelIndex
from apiext.storage.interface import Item


def _item(key: str, **labels: str) -> Item:
    return Item(key=key, revision=1, data=b"{}", labels=labels, fields={})


def _keys(index: LabelIndex, value: str) -> list[str]:
    return [item.key for item in index.items(value)]


def test_returns_items_by_value() -> None:
    """Return the items with a value in order, without those that lack the label."""
    index = LabelIndex("tier", [_item("a", tier="x"), _item("b", tier="y"), _item("c"), _item("d", tier="x")])

    assert (_keys(index, "x"), _keys(index, "y"), _keys(index, "z")) == (["a", "d"], ["b"], [])


def test_applies_changes() -> None:
    """Add, change, move and remove items in order."""
    index = LabelIndex("tier", [old := _item("b", tier="x"), _item("d", tier="x")])

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
    index = LabelIndex("tier", [old := _item("b", tier="x")])
    before = index.items("x")

    index.replace(old, None)
    index.replace(None, _item("a", tier="x"))

    assert list(before) == [old]


def test_indexes_absent_fields_as_empty() -> None:
    """Treat an absent field as empty, as selectors do."""
    items = [Item(key=key, revision=1, data=b"{}", labels={}, fields=fields) for key, fields in (("a", {}), ("b", {"spec.size": "m"}))]
    index = FieldIndex("spec.size", items)

    assert [[item.key for item in index.items(value)] for value in ("", "m", "s")] == [["a"], ["b"], []]
