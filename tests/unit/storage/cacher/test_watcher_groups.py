"""Matching of changes with groups of watchers."""

import itertools
import random

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.objectmeta.sharding import NAMESPACE, UID, ShardSelector, shard_hash
from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector
from apiext.storage.cacher.watcher_groups import WatcherGroups
from apiext.storage.interface import EVERYTHING, Event, Selection
from apiext.storage.rendering.interest import Interest, ShardStats
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry, read
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.rendering.watch_queue import WatchQueue
from tests.support.builders.widgets import WidgetCodec, widget

COLORS = ("red", "green", "blue", "")
CODEC = WidgetCodec()
RENDERER = Renderer("/registry/example.com/widgets/")


def _interest(selection: Selection, view: VersionView, after: int = 0) -> Interest:
    return Interest(view=view, codec=CODEC, scope="", selection=selection, after=after)


def _color(value: str) -> Selection:
    return Selection(fields=parse_field_selector(f"spec.color={value}"))


def _labels(text: str) -> Selection:
    return Selection(labels=parse_label_selector(text))


def _shards(count: int) -> list[Selection]:
    bounds = itertools.pairwise(2**64 * number // count for number in range(count + 1))
    return [Selection(shard=ShardSelector(UID, (part,))) for part in bounds]


def _entry(revision: int, color: str, **labels: str) -> StoredEntry:
    return read(RENDERER, "default/a", json_codec.dumps(widget("default/a", labels=labels, color=color)), revision)


def _random_entry(revision: int, chance: random.Random) -> StoredEntry | None:
    labels = {name: chance.choice(values) for name, values in (("team", "xy"), ("tier", "12")) if chance.random() < 0.7}
    return _entry(revision, chance.choice(COLORS), **labels) if chance.random() < 0.8 else None


@pytest.fixture
def view() -> VersionView:
    """Return a view."""
    return VersionView(CODEC, RENDERER)


def test_matches_every_group(view: VersionView) -> None:
    """Match a change with every group that selects it while watchers join and leave."""
    chance = random.Random(3)  # noqa: S311 -- the same choices on every run
    selections = [
        EVERYTHING,
        *map(_labels, ("team=x", "team in (x)", "team in (x,y)", "team", "!team", "team!=x", "team=x,tier=1")),
        *map(_labels, ("tier,team=y", "team=x,team=y")),
        Selection(parse_label_selector("team=x"), parse_field_selector("spec.color=red")),
        Selection(fields=parse_field_selector("metadata.name=a")),
        Selection(fields=parse_field_selector("spec.color!=red")),
        *map(_color, COLORS),
        *_shards(3),
        Selection(parse_label_selector("team=x"), shard=_shards(2)[0].shard),
        Selection(shard=ShardSelector(NAMESPACE, ((0, 2**63),))),
    ]
    groups, present = WatcherGroups(ShardStats()), list[tuple[WatchQueue[Event], Interest]]()
    for revision in range(1, 1000):
        if present and chance.random() < 0.4:
            assert groups.leave(*present.pop(chance.randrange(len(present))))
        else:
            present.append((WatchQueue[Event](), _interest(chance.choice(selections), view, after=chance.choice((0, 150)))))
            groups.join(*present[-1], 0)
        now, before = (_random_entry(revision, chance) for _ in range(2))
        if now is None and before is None:
            continue
        change = ObjectChange(key="default/a", revision=revision, entry=now, previous=before)
        told = {watch for group in groups.matching(change) for watch in group.watchers}
        assert told >= {watch for watch, interest in present if interest.event(change) is not None}
        assert {watch for group in groups for watch in group.watchers} == {watch for watch, _ in present}


def test_matches_only_the_values_of_a_change(view: VersionView) -> None:
    """Match a change with at most two of many groups that select different values."""
    groups = WatcherGroups(ShardStats())
    for number in range(100):
        groups.join(WatchQueue[Event](), _interest(_color(f"c{number}"), view), 0)
    change = ObjectChange(key="default/a", revision=2, entry=_entry(2, "c5"), previous=_entry(1, "c7"))

    assert {fields.text for group in groups.matching(change) if (fields := group.interest.selection.fields)} == {
        "spec.color=c5",
        "spec.color=c7",
    }


def test_matches_only_the_labels_of_a_change(view: VersionView) -> None:
    """Match a change with those of many groups that require its labels, and with those that require none."""
    groups = WatcherGroups(ShardStats())
    texts = [*(f"team=t{number}" for number in range(100)), *(f"key{number}" for number in range(100)), "team in (t5,t6)", "tier!=1"]
    for text in texts:
        groups.join(WatchQueue[Event](), _interest(_labels(text), view), number=0)
    change = ObjectChange(key="default/a", revision=2, entry=_entry(2, "", team="t5"), previous=_entry(1, "", key7="", team="t7"))

    found = [labels.text for group in groups.matching(change) if (labels := group.interest.selection.labels)]
    assert sorted(found) == ["key7", "team in (t5,t6)", "team=t5", "team=t7", "tier!=1"]


def test_matches_only_the_shard_of_a_change(view: VersionView) -> None:
    """Match a change with one of many groups of shards, and compute the hash of each object once."""
    groups = WatcherGroups(ShardStats())
    for shard in _shards(100):
        for _ in range(2):
            groups.join(WatchQueue[Event](), _interest(shard, view), 0)
    entry = _entry(2, "red")
    change = ObjectChange(key="default/a", revision=2, entry=entry, previous=_entry(1, ""))

    (group,) = groups.matching(change)
    assert len(group.watchers) == 2
    assert group.interest.event(change) is not None
    assert view.item(entry).uid_hash == shard_hash("uid-of-a")


def test_matches_an_undecodable_object_with_all_groups(view: VersionView) -> None:
    """Match an undecodable object with all groups."""
    groups = WatcherGroups(ShardStats())
    for color in COLORS:
        groups.join(WatchQueue[Event](), _interest(_color(color), view), 0)
    change = ObjectChange(key="default/a", revision=2, entry=read(RENDERER, "default/a", b"garbage", 2), previous=None)

    assert len(groups.matching(change)) == len(COLORS)


def test_drops_empty_groups(view: VersionView) -> None:
    """Drop groups without watchers; ignore a second leave."""
    groups, watch, interest = WatcherGroups(ShardStats()), WatchQueue[Event](), _interest(_color("red"), view)
    groups.join(watch, interest, 0)

    assert groups
    assert groups.leave(watch, interest)
    assert not groups.leave(watch, interest)
    assert not groups
