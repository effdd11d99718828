"""Shards of every Store on every backend: each object is in the lists and watches of one of them."""

import itertools

import pytest

from apiext.base.meta.objectmeta.sharding import NAMESPACE, UID, ShardSelector, shard_hash
from apiext.storage.interface import EventType, ListOptions, Selection, Store, VersionMatch
from tests.support.builders.widgets import WidgetCodec, change, labelled, relabel, watching, widget

KEYS = [f"{namespace}/{number:02}" for namespace in ("a", "b") for number in range(12)]


def _shards(count: int, field: str = UID) -> list[Selection]:
    bounds = itertools.pairwise(2**64 * number // count for number in range(count + 1))
    return [Selection(shard=ShardSelector(field, (part,))) for part in bounds]


def _keys_in(selection: Selection, keys: list[str]) -> list[str]:
    """Return the keys of the widgets in a shard by uid."""
    assert selection.shard is not None
    return [key for key in keys if selection.shard.contains(shard_hash(f"uid-of-{key.partition('/')[2]}"))]


async def _fill(store: Store, codec: WidgetCodec) -> int:
    revision = 0
    for key in KEYS:
        revision = (await store.create(key, widget(key, labels={"odd": str(int(key[-1]) % 2)}), codec)).revision
    return revision


async def _listed(store: Store, codec: WidgetCodec, options: ListOptions, prefix: str = "") -> list[str]:
    return [item.key for item in (await store.list(prefix, codec, options)).items]


async def test_lists_shards(store: Store, codec: WidgetCodec) -> None:
    """List the objects of each shard, alone and with a label, in a namespace, at a past revision and after changes."""
    filled = await _fill(store, codec)
    for shard in _shards(3):
        assert await _listed(store, codec, ListOptions(shard)) == _keys_in(shard, KEYS)
        odd = Selection(labelled("odd=1").labels, shard=shard.shard)
        assert await _listed(store, codec, ListOptions(odd)) == [key for key in _keys_in(shard, KEYS) if int(key[-1]) % 2]
        assert await _listed(store, codec, ListOptions(shard), "b/") == _keys_in(shard, KEYS[12:])
    await store.delete(KEYS[0], codec)
    await relabel(store, codec, KEYS[5], odd="0")
    for shard in _shards(3):
        assert await _listed(store, codec, ListOptions(shard)) == _keys_in(shard, KEYS[1:])
        past = ListOptions(shard, resource_version=str(filled), match=VersionMatch.EXACT)
        assert await _listed(store, codec, past) == _keys_in(shard, KEYS)


async def test_lists_shards_of_namespaces(store: Store, codec: WidgetCodec) -> None:
    """List the objects of the namespaces whose hashes are in a shard."""
    await _fill(store, codec)
    of_a = shard_hash("a")
    selection = Selection(shard=ShardSelector(NAMESPACE, ((of_a, of_a + 1),)))
    both = Selection(shard=ShardSelector(NAMESPACE, ((0, of_a), (of_a, 2**64))))

    assert await _listed(store, codec, ListOptions(selection)) == KEYS[:12]
    assert await _listed(store, codec, ListOptions(both)) == KEYS


@pytest.mark.parametrize("limit", [1, 5])
async def test_pages_of_a_shard(store: Store, codec: WidgetCodec, limit: int) -> None:
    """Page through a shard, without a number of remaining objects; another shard may continue."""
    await _fill(store, codec)
    low, high = _shards(2)
    found: list[str] = []
    page = await store.list("", codec, ListOptions(low, limit=limit))
    first = page
    while page.continue_token:
        assert page.remaining is None
        found += [item.key for item in page.items]
        page = await store.list("", codec, ListOptions(low, limit=limit, continue_token=page.continue_token))
    others = await _listed(store, codec, ListOptions(high, continue_token=first.continue_token))

    assert found + [item.key for item in page.items] == _keys_in(low, KEYS)
    assert others == [key for key in _keys_in(high, KEYS) if key > first.items[-1].key]


async def test_watches_shards(store: Store, codec: WidgetCodec) -> None:
    """Send each object's events to the watch of its shard only, with the initial ones."""
    await _fill(store, codec)
    new = [f"c/{number:02}" for number in range(12)]
    for shard in _shards(2):
        async with watching(store, codec, selection=shard) as reader:
            initial = [await reader.next() for _ in _keys_in(shard, KEYS)]
            for key in new:
                await store.create(key, widget(key), codec)
                await change(store, codec, key, color="red")
                await store.delete(key, codec)
            events = await reader.take(3 * len(_keys_in(shard, new)))

        assert [event.item.key for event in initial if event.item is not None] == _keys_in(shard, KEYS)
        kinds = ("ADDED", "MODIFIED", "DELETED")
        assert [event[:2] for event in events] == [(kind, key) for key in _keys_in(shard, new) for kind in kinds]


async def test_watches_a_label_within_a_shard(store: Store, codec: WidgetCodec) -> None:
    """Send the object as deleted when its label no longer matches; its shard does not change."""
    (shard,) = (one for one in _shards(2) if _keys_in(one, ["a/x"]))
    selection = Selection(labelled("odd=1").labels, shard=shard.shard)
    await store.create("a/x", widget("a/x", labels={"odd": "1"}), codec)
    async with watching(store, codec, selection=selection) as reader:
        assert (await reader.next()).type is EventType.ADDED
        changed = await relabel(store, codec, "a/x", odd="0")

        assert await reader.take(1) == [("DELETED", "a/x", changed.revision)]
