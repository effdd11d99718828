"""Lists of every Store on every backend: order, selection, paging, and resourceVersion."""

import asyncio

import pytest

from apiext.base.meta.errors import StatusError
from apiext.storage import continue_token
from apiext.storage.backend import Backend
from apiext.storage.interface import ListOptions, ListResult, Selection, Store, VersionMatch
from tests.contract.stores import MakeFactory
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, labelled, relabel, where, widget


def keys_of(result: ListResult) -> list[str]:
    """Return the keys of a list."""
    return [item.key for item in result.items]


async def fill(store: Store, codec: WidgetCodec, *keys: str) -> int:
    """Create widgets and return the revision of the last one."""
    revision = 0
    for key in keys:
        revision = (await store.create(key, widget(key, labels={"name": key[-1]}), codec)).revision
    return revision


async def test_lists_in_key_order(store: Store, codec: WidgetCodec) -> None:
    """List all objects or those of one namespace in the order of keys, with the store's revision."""
    last = await fill(store, codec, "b/x", "a/y", "a/x", "a-b/x", "ab/z")
    everything = await store.list("", codec, ListOptions())

    assert keys_of(everything) == ["a-b/x", "a/x", "a/y", "ab/z", "b/x"]
    assert everything.revision >= last
    assert keys_of(await store.list("a/", codec, ListOptions())) == ["a/x", "a/y"]
    assert keys_of(await store.list("nowhere/", codec, ListOptions())) == []


async def test_lists_what_get_returns(store: Store, codec: WidgetCodec) -> None:
    """List each object as a get returns it."""
    await fill(store, codec, "a/x", "a/y")
    listed = await store.list("", codec, ListOptions())

    assert [item.data for item in listed.items] == [(await store.get(key, codec)).data for key in ("a/x", "a/y")]


async def test_reads_earlier_writes(store: Store, codec: WidgetCodec) -> None:
    """Return every acknowledged write from reads without a resourceVersion."""
    for number in range(10):
        await store.create(f"a/{number}", widget(f"a/{number}"), codec)
        assert len((await store.list("a/", codec, ListOptions())).items) == number + 1
        changed = await change(store, codec, f"a/{number}", color="red")
        assert (await store.get(f"a/{number}", codec)).revision == changed.revision
    for number in range(10):
        await store.delete(f"a/{number}", codec)
        assert len((await store.list("", codec, ListOptions())).items) == 9 - number


async def test_reads_writes_of_another_server(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Return the writes of one server from later reads of another."""
    here, there = (await make_factory()).store(WIDGETS), (await make_factory()).store(WIDGETS)
    await here.list("", codec, ListOptions())
    await there.list("", codec, ListOptions())
    for number in range(10):
        await here.create(f"a/{number}", widget(f"a/{number}"), codec)
        assert (await there.get(f"a/{number}", codec)).key == f"a/{number}"
        assert len((await there.list("a/", codec, ListOptions())).items) == number + 1


async def test_does_not_wait_for_other_prefixes(store: Store, codec: WidgetCodec, backend: Backend) -> None:
    """List without a long wait after writes outside the store's prefix."""
    await fill(store, codec, "a/x")
    await store.list("", codec, ListOptions())
    written = await backend.create(f"/elsewhere/{id(store)}", b"x")

    async with asyncio.timeout(30):
        listed = await store.list("", codec, ListOptions())
    assert keys_of(listed) == ["a/x"]
    assert listed.revision >= written.revision


@pytest.mark.parametrize(
    "selection,expected",
    [
        (labelled("name=x"), ["a/x", "b/x"]),
        (labelled("name!=x"), ["a/y"]),
        (labelled("name in (x,y)"), ["a/x", "a/y", "b/x"]),
        (where("metadata.name=x"), ["a/x", "b/x"]),
        (where("metadata.name=x,metadata.namespace=b"), ["b/x"]),
        (where("metadata.namespace=a"), ["a/x", "a/y"]),
        (where("metadata.namespace!=a"), ["b/x"]),
        (where("metadata.name=z"), []),
        (Selection(labels=labelled("name=x").labels, fields=where("metadata.namespace=a").fields), ["a/x"]),
    ],
)
async def test_selects_by_labels_and_fields(store: Store, codec: WidgetCodec, selection: Selection, expected: list[str]) -> None:
    """List the objects that match the selectors, also after changes."""
    await fill(store, codec, "a/x", "a/y", "b/x")
    assert keys_of(await store.list("", codec, ListOptions(selection=selection))) == expected
    await relabel(store, codec, "a/y", name="z")
    await relabel(store, codec, "a/y", name="y")

    assert keys_of(await store.list("", codec, ListOptions(selection=selection))) == expected


async def test_updates_selections(store: Store, codec: WidgetCodec) -> None:
    """List an object once it matches the selector, and no longer once it does not."""
    await fill(store, codec, "a/x", "a/y")
    options = ListOptions(selection=labelled("name=x"))
    assert keys_of(await store.list("a/", codec, options)) == ["a/x"]
    await relabel(store, codec, "a/y", name="x")
    assert keys_of(await store.list("a/", codec, options)) == ["a/x", "a/y"]
    await relabel(store, codec, "a/x", name="y")
    assert keys_of(await store.list("a/", codec, options)) == ["a/y"]
    await store.delete("a/y", codec)
    assert keys_of(await store.list("a/", codec, options)) == []


async def test_pages_without_gaps(store: Store, codec: WidgetCodec) -> None:
    """Return each object once on consecutive pages, with the number of remaining ones."""
    await fill(store, codec, *(f"a/{number}" for number in range(7)))
    pages = [await store.list("", codec, ListOptions(limit=3))]
    while pages[-1].continue_token:
        pages.append(await store.list("", codec, ListOptions(limit=3, continue_token=pages[-1].continue_token)))

    assert [keys_of(page) for page in pages] == [["a/0", "a/1", "a/2"], ["a/3", "a/4", "a/5"], ["a/6"]]
    assert [page.remaining for page in pages] == [4, 1, None]
    assert len({page.revision for page in pages}) == 1


async def test_omits_the_token_of_a_complete_list(store: Store, codec: WidgetCodec) -> None:
    """Return no continue token when the limit holds all objects."""
    await fill(store, codec, "a/x", "a/y")
    for limit in (2, 3):
        page = await store.list("a/", codec, ListOptions(limit=limit))
        assert (keys_of(page), page.continue_token, page.remaining) == (["a/x", "a/y"], "", None)


async def test_fills_pages_with_matches(store: Store, codec: WidgetCodec) -> None:
    """Fill pages with matching objects, however sparse, without the number of remaining ones."""
    for number in range(30):
        await store.create(f"a/{number:02}", widget(f"a/{number:02}", labels={"third": str(number % 3 == 0)}), codec)
    found: list[str] = []
    options = ListOptions(limit=4, selection=labelled("third=True"))
    while True:
        page = await store.list("a/", codec, options)
        found += keys_of(page)
        assert page.remaining is None
        assert len(page.items) == 4 or not page.continue_token
        if not page.continue_token:
            break
        options = ListOptions(limit=4, selection=options.selection, continue_token=page.continue_token)

    assert found == [f"a/{number:02}" for number in range(0, 30, 3)]


async def test_pages_show_one_revision(store: Store, codec: WidgetCodec) -> None:
    """Return the state of the first page on all pages, whatever is written between them."""
    await fill(store, codec, *(f"a/{number}" for number in range(0, 10, 2)))
    before = [item.data for item in (await store.list("", codec, ListOptions())).items]
    page = await store.list("", codec, ListOptions(limit=2))
    items = list(page.items)
    for number in range(1, 10, 2):
        await store.create(f"a/{number}", widget(f"a/{number}"), codec)
        await change(store, codec, "a/6", color=str(number))
    await store.delete("a/4", codec)
    await store.delete("a/8", codec)
    await store.create("a/8", widget("a/8", color="new"), codec)
    while page.continue_token:
        page = await store.list("", codec, ListOptions(limit=2, continue_token=page.continue_token))
        items += page.items

    assert [item.data for item in items] == before


async def test_lists_exact_revisions(store: Store, codec: WidgetCodec) -> None:
    """List the state of every past revision."""
    states: dict[int, list[bytes]] = {}
    for step in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12):
        key = f"a/{step % 5}"
        if step in (5, 7):
            await store.delete(key, codec)
        elif step in (6, 8, 9):
            await relabel(store, codec, key, step=str(step))
        else:
            await store.create(key, widget(key, step=step), codec)
        listed = await store.list("", codec, ListOptions())
        states[listed.revision] = [item.data for item in listed.items]
    for revision, state in states.items():
        exact = ListOptions(resource_version=str(revision), match=VersionMatch.EXACT)
        listed = await store.list("", codec, exact)
        assert (listed.revision, [item.data for item in listed.items]) == (revision, state)
        assert [item.data for item in (await store.list("a/", codec, exact)).items] == state
        one = ListOptions(resource_version=str(revision), match=VersionMatch.EXACT, selection=where("metadata.name=0"))
        found = [item.data for item in (await store.list("a/", codec, one)).items]
        assert found == [data for data in state if b'"name":"0"' in data]


async def test_treats_a_limited_revision_as_exact(store: Store, codec: WidgetCodec) -> None:
    """Treat a resourceVersion with a limit and without a match as exact."""
    revision = await fill(store, codec, "a/x", "a/y")
    await fill(store, codec, "a/a")
    page = await store.list("", codec, ListOptions(resource_version=str(revision), limit=1))

    assert (keys_of(page), page.revision) == (["a/x"], revision)


async def test_lists_a_minimum_revision(store: Store, codec: WidgetCodec) -> None:
    """Treat a resourceVersion without a limit as a minimum."""
    first = await fill(store, codec, "a/x")
    await fill(store, codec, "a/y")
    for match in (VersionMatch.UNSET, VersionMatch.NOT_OLDER_THAN):
        listed = await store.list("", codec, ListOptions(resource_version=str(first), match=match))
        assert keys_of(listed)[0] == "a/x"
        assert listed.revision >= first
    assert (await store.get("a/x", codec, resource_version=str(first))).revision == first
    assert (await store.get("a/x", codec, resource_version="0")).revision == first
    assert (await store.list("", codec, ListOptions(resource_version="0"))).items


async def test_caches_what_any_read_may_return(store: Store, codec: WidgetCodec) -> None:
    """Return the same from the cache, at once, as from a read of any state, or nothing."""
    await fill(store, codec, "a/x")
    await store.list("", codec, ListOptions())
    read = await store.get("a/x", codec, resource_version="0")
    assert store.cached_item("a/x", codec) in (None, read)
    assert store.cached_item("a/y", codec) is None
    await store.delete("a/x", codec)
    await store.list("", codec, ListOptions())

    assert store.cached_item("a/x", codec) is None


async def test_rejects_a_future_revision(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend) -> None:
    """Return 504 with the cause that clients expect for a revision that has not been reached."""
    store = (await make_factory(max_wait=0.05)).store(WIDGETS)
    await store.list("", codec, ListOptions())
    future = await backend.revision() + 1000
    calls = [
        store.get("a/x", codec, resource_version=str(future)),
        *(
            store.list("", codec, ListOptions(resource_version=str(future), match=match, limit=limit))
            for match in VersionMatch
            for limit in (0, 1)
        ),
    ]
    for call in calls:
        with pytest.raises(StatusError, match=f"Timeout: Too large resource version: {future}, current: ") as caught:
            await call
        status = caught.value.status()
        assert (status["code"], status["reason"]) == (504, "Timeout")
        assert status["details"]["causes"] == [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]


async def test_rejects_compacted_revisions(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend) -> None:
    """Return 410 Expired for a compacted revision, with a token for the latest one if it was a page."""
    earlier = (await make_factory()).store(WIDGETS)
    old = await fill(earlier, codec, "a/a", "a/b", "a/c")
    page = await earlier.list("a/", codec, ListOptions(limit=1))
    await fill(earlier, codec, "a/d")
    await earlier.delete("a/c", codec)
    await backend.compact(await backend.revision())
    # a cache that starts now has no history
    store = (await make_factory()).store(WIDGETS)

    for options in (
        ListOptions(resource_version=str(old), match=VersionMatch.EXACT),
        ListOptions(resource_version=str(old), limit=1),
    ):
        with pytest.raises(StatusError, match=r"^The resourceVersion for the provided list is too old\.$") as caught:
            await store.list("a/", codec, options)
        assert (caught.value.code, caught.value.reason) == (410, "Expired")
    with pytest.raises(StatusError, match="The provided continue parameter is too old") as caught:
        await store.list("a/", codec, ListOptions(limit=1, continue_token=page.continue_token))
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    token = caught.value.status()["metadata"]["continue"]
    rest = await store.list("a/", codec, ListOptions(limit=5, continue_token=token))
    assert keys_of(rest) == ["a/b", "a/d"]


async def test_rejects_malformed_requests(store: Store, codec: WidgetCodec) -> None:
    """Return 400 for a malformed resourceVersion or token."""
    token = continue_token.encode("x\0", 5)
    for options, message in (
        (ListOptions(resource_version="x"), "invalid resource version: resourceVersion: Invalid value: "),
        (ListOptions(continue_token="x"), "invalid continue token: continue key is not valid"),
        (
            ListOptions(continue_token=token, resource_version="5"),
            "specifying resource version is not allowed when using continue",
        ),
    ):
        with pytest.raises(StatusError, match=message) as caught:
            await store.list("", codec, options)
        assert caught.value.code == 400


async def test_names_corrupt_objects(store: Store, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """Fail a list with corrupt objects and name them; answer lists of other namespaces."""
    await fill(store, codec, "a/x", "b/x")
    await store.list("", codec, ListOptions())
    await backend.create(f"{prefix}example.com/widgets/b/bad", b'{"kind":"Gadget"}')
    await backend.create(f"{prefix}example.com/widgets/b/worse", b"k8s:enc:aescbc:v1:key:secret")

    assert keys_of(await store.list("a/", codec, ListOptions())) == ["a/x"]
    for scope in ("", "b/"):
        with pytest.raises(StatusError, match=r"failed to read one or more widgets\.example\.com from the storage: ") as caught:
            await store.list(scope, codec, ListOptions())
        status = caught.value.status()
        assert (status["code"], status["reason"]) == (500, "StorageReadError")
        fields = [cause["field"].removeprefix(prefix) for cause in status["details"]["causes"]]
        assert fields == ["example.com/widgets/b/bad", "example.com/widgets/b/worse"]


async def test_counts_objects(store: Store, codec: WidgetCodec) -> None:
    """Count the objects."""
    await fill(store, codec, "a/x", "b/y")
    await store.list("", codec, ListOptions())

    assert await store.count() == 2


async def test_lists_cluster_scoped_objects(store: Store, codec: WidgetCodec) -> None:
    """List, select and page objects without a namespace."""
    await fill(store, codec, "x", "y", "z")

    assert keys_of(await store.list("", codec, ListOptions())) == ["x", "y", "z"]
    assert keys_of(await store.list("", codec, ListOptions(selection=where("metadata.name=y")))) == ["y"]
    page = await store.list("", codec, ListOptions(limit=2))
    page = await store.list("", codec, ListOptions(limit=2, continue_token=page.continue_token))
    assert keys_of(page) == ["z"]
