"""Ranges: order, limits, counts, old revisions and compaction, over both backends."""

import asyncio
import string

import pytest

from apiext.storage.backend import Backend, BackendError, CompactedError, FutureRevisionError, RangeResult
from tests.contract.watching import write


def names(result: RangeResult, prefix: str) -> str:
    """The last letters of the keys found."""
    return "".join(item.key.removeprefix(prefix) for item in result.items)


async def fill(backend: Backend, prefix: str, letters: str) -> int:
    """Create a key for each letter; the last revision."""
    return max([(await backend.create(prefix + letter, letter.encode())).revision for letter in letters])


async def test_list_is_in_the_order_of_bytes(backend: Backend, prefix: str) -> None:
    """Keys come in the order of their UTF-8 bytes, whatever the order of their creation."""
    await fill(backend, prefix, "b🙂a\uffffZ-0ü/")
    assert names(await backend.list(prefix), prefix) == "-/0Zabü\uffff🙂"


async def test_list_keeps_to_the_prefix(backend: Backend, prefix: str) -> None:
    """Neighbours of a prefix, above and below, are not in it."""
    await fill(backend, prefix, "a")
    for neighbour in (prefix[:-1], prefix[:-1] + "0", prefix[:-1] + ".", prefix[:-1] + "-x"):
        await backend.create(neighbour, b"")
    result = await backend.list(prefix)
    assert (names(result, prefix), result.count, result.more) == ("a", 1, False)
    assert await backend.count(prefix) == 1


async def test_list_of_nothing(backend: Backend, prefix: str) -> None:
    """An empty range has the store's revision."""
    result = await backend.list(prefix)
    assert (list(result.items), result.count, result.more) == ([], 0, False)
    assert result.revision == await backend.revision()


async def test_the_empty_prefix_is_everything(backend: Backend, prefix: str) -> None:
    """No prefix means all keys."""
    await fill(backend, prefix, "ab")
    assert {prefix + "a", prefix + "b"} <= {item.key for item in (await backend.list("")).items}


async def test_limit_cuts_and_counts_the_rest(backend: Backend, prefix: str) -> None:
    """A limited range says how many there are from its start on."""
    last = await fill(backend, prefix, "abcde")
    result = await backend.list(prefix, limit=2)
    assert (names(result, prefix), result.count, result.more, result.revision) == ("ab", 5, True, last)
    result = await backend.list(prefix, start=prefix + "c", limit=2)
    assert (names(result, prefix), result.count, result.more) == ("cd", 3, True)
    result = await backend.list(prefix, start=prefix + "d", limit=2)
    assert (names(result, prefix), result.count, result.more) == ("de", 2, False)


async def test_start_is_inclusive_and_need_not_exist(backend: Backend, prefix: str) -> None:
    """A range may start at a key, after a key (its own bytes and a zero), or between keys."""
    await fill(backend, prefix, "aceg")
    assert names(await backend.list(prefix, start=prefix + "c"), prefix) == "ceg"
    assert names(await backend.list(prefix, start=prefix + "c\0"), prefix) == "eg"
    assert names(await backend.list(prefix, start=prefix + "d"), prefix) == "eg"


async def test_list_at_a_revision(backend: Backend, prefix: str) -> None:
    """A range at an old revision is as it was: updates, deletions and creations since then are not seen."""
    at = await fill(backend, prefix, "abcd")
    b, c = (await backend.list(prefix, start=prefix + "b", limit=2)).items
    await backend.update(prefix + "b", b"new", expected=b.revision)
    await backend.delete(prefix + "c", expected=c.revision)
    await fill(backend, prefix, "A")
    old = await backend.list(prefix, revision=at)
    assert [(item.key[-1], item.value) for item in old.items] == [("a", b"a"), ("b", b"b"), ("c", b"c"), ("d", b"d")]
    assert (old.revision, old.count) == (at, 4)
    page = await backend.list(prefix, revision=at, limit=2, start=prefix + "b")
    assert (names(page, prefix), page.count, page.more, page.revision) == ("bc", 3, True, at)
    assert names(await backend.list(prefix), prefix) == "Aabd"


async def test_many_versions_at_each_revision(backend: Backend, prefix: str) -> None:
    """Each old revision of keys that change often is read exactly."""
    seen = {}
    revision = {letter: (await backend.create(prefix + letter, b"0")).revision for letter in "ab"}
    for n in range(1, 10):
        for letter in "ab":
            result = await backend.update(prefix + letter, b"%d" % n, expected=revision[letter])
            revision[letter] = result.revision
            seen[result.revision] = [b"%d" % n, b"%d" % (n if letter == "b" else n - 1)]
    for at, values in seen.items():
        assert [item.value for item in (await backend.list(prefix, revision=at)).items] == values


async def test_a_future_revision_is_refused(backend: Backend, prefix: str) -> None:
    """A revision that has not been reached raises FutureRevisionError, which tells the current one."""
    last = await fill(backend, prefix, "a")
    with pytest.raises(FutureRevisionError) as caught:
        await backend.list(prefix, revision=last + 1000)
    assert caught.value.current == last
    with pytest.raises(FutureRevisionError):
        await backend.compact(last + 1000)


async def test_compaction_forgets_the_past_only(backend: Backend, prefix: str) -> None:
    """Older revisions than the compacted one are gone; that one, and all values, stay."""
    first = await fill(backend, prefix, "abc")
    result = await write(backend, prefix + "d", b"1", b"2", b"3")
    await backend.delete(prefix + "d", expected=result.revision)
    gone = await fill(backend, prefix, "e")
    last = await fill(backend, prefix, "f")
    await backend.compact(gone)
    for revision in (1, first, gone - 1):
        with pytest.raises(CompactedError) as caught:
            await backend.list(prefix, revision=revision)
        assert revision < caught.value.compact_revision <= gone
    assert names(await backend.list(prefix, revision=gone), prefix) == "abce"
    assert names(await backend.list(prefix, revision=last), prefix) == "abcef"
    assert names(await backend.list(prefix), prefix) == "abcef"


async def test_compaction_again_does_nothing(backend: Backend, prefix: str) -> None:
    """Compacting at the same revision again, or at an older one, is no error."""
    last = await fill(backend, prefix, "abc")
    await backend.compact(last)
    await backend.compact(last)
    await backend.compact(last - 1)
    assert names(await backend.list(prefix), prefix) == "abc"


async def test_compaction_of_a_deletion_keeps_the_revision(backend: Backend, prefix: str) -> None:
    """The revision does not go back when the last change was a deletion that has been compacted."""
    created = await backend.create(prefix + "a", b"")
    deleted = await backend.delete(prefix + "a", expected=created.revision)
    await backend.compact(deleted.revision)
    assert await backend.revision() == deleted.revision
    assert (await backend.create(prefix + "a", b"")).revision == deleted.revision + 1


async def test_compaction_while_others_write(backend: Backend, prefix: str) -> None:
    """Compacting at the current revision while writers are at work disturbs neither them nor the values."""

    async def work(letter: str) -> None:
        await write(backend, prefix + letter, *(b"%d" % n for n in range(20)))

    async def compact() -> None:
        for _ in range(5):
            await backend.compact(await backend.revision())

    await asyncio.gather(compact(), *(work(letter) for letter in "abcdefgh"))
    items = (await backend.list(prefix)).items
    assert [(item.key[-1], item.value) for item in items] == [(letter, b"19") for letter in "abcdefgh"]


async def test_paging_over_a_moving_collection(backend: Backend, prefix: str) -> None:
    """Pages at the first page's revision together are its state, whatever is written between them."""
    await asyncio.gather(*(backend.create(f"{prefix}{n:03}", b"old") for n in range(100)))
    page = await backend.list(prefix, limit=7)
    at, items = page.revision, list(page.items)
    while page.more:
        key = items[-1].key
        await backend.delete(key, expected=items[-1].revision)
        await backend.create(key + "x", b"new")
        following = f"{prefix}{len(items) + 1:03}"
        current, _ = await backend.get(following)
        if current is not None:
            await backend.update(following, b"new", expected=current.revision)
        page = await backend.list(prefix, start=key + "\0", revision=at, limit=7)
        assert page.count == 100 - len(items)
        items.extend(page.items)
    assert [item.key for item in items] == [f"{prefix}{n:03}" for n in range(100)]
    assert {item.value for item in items} == {b"old"}


async def test_a_list_beyond_any_page_or_message(backend: Backend, prefix: str) -> None:
    """A list of many keys, and one of more than 4 MB, is whole and of one revision although others write meanwhile."""
    big = b"x" * 40_000
    await asyncio.gather(*(backend.create(f"{prefix}big/{n:03}", big) for n in range(150)))
    await asyncio.gather(*(backend.create(f"{prefix}many/{n:04}", b"") for n in range(2300)))
    reading = asyncio.ensure_future(backend.list(prefix))
    for n in range(20):
        await backend.create(f"{prefix}zzz/{n:03}", b"")
    result = await reading
    late = [item for item in result.items if item.key.startswith(prefix + "zzz/")]
    assert len(result.items) == result.count == 2450 + len(late)
    assert all(item.revision <= result.revision for item in result.items)
    assert [item.value for item in result.items[:150]] == [big] * 150
    assert [item.key for item in result.items] == sorted(item.key for item in result.items)
    limited = await backend.list(prefix, limit=1200)
    assert (len(limited.items), limited.count) == (1200, 2470)


async def test_count(backend: Backend, prefix: str) -> None:
    """The count is of existing keys."""
    await fill(backend, prefix, string.ascii_letters)
    created = await backend.create(prefix + "0", b"")
    await backend.delete(prefix + "0", expected=created.revision)
    assert await backend.count(prefix) == 52
    assert await backend.count(prefix + "none/") == 0


async def test_a_prefix_that_is_no_text_is_refused(backend: Backend) -> None:
    """A lone surrogate is an error of the backend's own kind for reads, too."""
    for call in (backend.get("\ud800"), backend.list("\ud800/"), backend.count("\ud800/")):
        with pytest.raises(BackendError):
            await call
