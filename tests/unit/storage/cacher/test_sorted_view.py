"""The sorted items of a view: selections by indexes and by looking at all items."""

import random

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.objectmeta.sharding import NAMESPACE, UID, ShardSelector
from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector
from apiext.base.meta.steps import at_once
from apiext.storage.cacher.sorted_view import SortedView, between
from apiext.storage.interface import Item, Selection
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView
from tests.support.builders.widgets import WidgetCodec, labelled, where

CODEC = WidgetCodec()
VIEW = VersionView(CODEC, Renderer("/registry/example.com/widgets/"))
SELECTIONS = [
    labelled("a=1"),
    labelled("a in (1,2),b"),
    labelled("a=1,b=2"),
    labelled("a=1,b=2,c!=3"),
    labelled("a=1,a=2"),
    labelled("a in (0,1,2,3)"),
    labelled("!a"),
    labelled("a!=1,b notin (2)"),
    labelled("a,b,c,d=1"),
    where("spec.color=1"),
    where("spec.color=,spec.size!=2"),
    Selection(parse_label_selector("a=1"), parse_field_selector("spec.color=2")),
    Selection(shard=ShardSelector(UID, ((0, 2**63),))),
    Selection(shard=ShardSelector(UID, ((0, 2**62), (2**63, 2**64)))),
    Selection(parse_label_selector("a=1"), shard=ShardSelector(UID, ((0, 2**63),))),
    Selection(shard=ShardSelector(NAMESPACE, ((0, 2**63),))),
]


def item(key: str, labels: dict[str, str], fields: dict[str, str]) -> StoredEntry:
    """Return an entry that is rendered."""
    data = json_codec.dumps({"metadata": {"uid": f"uid-of-{key}"}})
    entry = StoredEntry(key, 1, data)
    entry.adopt(VIEW, Item(key=key, revision=1, data=data, labels=labels, fields={"metadata.namespace": key.partition("/")[0], **fields}))
    return entry


def random_entry(chance: random.Random, key: str) -> StoredEntry:
    """Return an entry with random labels and fields."""
    labels = {name: str(chance.randrange(4)) for name in "abcd" if chance.random() < 0.7}
    fields = {name: str(chance.randrange(3)) for name in ("spec.color", "spec.size") if chance.random() < 0.7}
    return item(key, labels, fields)


async def check(sorted_view: SortedView, selection: Selection, scope: str) -> None:
    """Compare a selection, with its index or without, with the matching of each item."""
    wanted = [one for one in sorted_view.items if one.key.startswith(scope) and selection.matches(one)]
    assert list(await sorted_view.selected(scope, selection)) == wanted
    await sorted_view.prepare(selection)
    assert list(await sorted_view.selected(scope, selection)) == wanted


@pytest.mark.parametrize("size", [20, 200, 2000])
async def test_selects_what_matches(size: int) -> None:
    """Select the same items with every index and without, while items change."""
    chance = random.Random(size)  # noqa: S311 -- the same choices on every run
    entries = {key: random_entry(chance, key) for key in sorted(f"n{chance.randrange(3)}/{number}" for number in range(size))}
    sorted_view = SortedView(VIEW)
    assert at_once(sorted_view.fill(list(entries.values()), 0))
    for generation in range(1, 20):
        for selection in chance.sample(SELECTIONS, 4):
            await check(sorted_view, selection, chance.choice(("", "n1/")))
        key = chance.choice([*entries, "n1/new", "n9/new"])
        previous, now = entries.pop(key, None), random_entry(chance, key) if chance.random() < 0.6 else None
        if previous is None and now is None:
            continue
        if now is not None:
            entries[key] = now
        assert sorted_view.update([ObjectChange(key=key, revision=generation, entry=now, previous=previous)])


async def test_indexes_absent_fields_as_empty() -> None:
    """Treat an absent field as empty, as selectors do."""
    sorted_view = SortedView(VIEW)
    at_once(sorted_view.fill([item(f"{number:03}", {}, {"spec.size": "m"} if number % 2 else {}) for number in range(100)], 0))

    await sorted_view.prepare(where("spec.size="))

    assert len(await sorted_view.selected("", where("spec.size="))) == 50


async def test_a_range_of_items() -> None:
    """Return the items of a scope from a start key, which is relative to the scope."""
    sorted_view = SortedView(VIEW)
    at_once(sorted_view.fill([item(key, {}, {}) for key in ("a", "b/1", "b/2", "b/3", "c/1")], 0))

    def keys(scope: str, start: str = "") -> list[str]:
        return [one.key for one in between(sorted_view.items, scope, start)]

    assert keys("b/") == ["b/1", "b/2", "b/3"]
    assert keys("b/", "2") == ["b/2", "b/3"]
    assert keys("", "b/3") == ["b/3", "c/1"]
    assert keys("d/") == []
    assert between(sorted_view.items, "") is sorted_view.items


def test_equal_pages_are_the_same_sequence() -> None:
    """Return the items of a page and the number without its limit; the same sequence until a change, if the page is long."""
    sorted_view = SortedView(VIEW)
    at_once(sorted_view.fill([item(f"{space}/{number:03}", {}, {}) for space in "ab" for number in range(200)], 0))

    page, total = sorted_view.page("a/", "050", 120)

    assert [one.key for one in page] == [f"a/{number:03}" for number in range(50, 170)]
    assert total == 150
    assert sorted_view.page("a/", "050", 120)[0] is page
    assert sorted_view.page("b/", "050", 120)[0] is not page
    assert sorted_view.page("a/", "190", 0)[0] is not sorted_view.page("a/", "190", 0)[0]
    assert sorted_view.page("", "", 0) == (sorted_view.items, 400)
    assert sorted_view.page("", "", 0)[0] is sorted_view.items
    assert sorted_view.page("c/", "", 5) == ([], 0)
    new = item("a/100", {}, {})
    assert sorted_view.update([ObjectChange(key="a/100", revision=1, entry=new, previous=None)])
    assert sorted_view.page("a/", "050", 120)[0][50] is VIEW.item(new)
