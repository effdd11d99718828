"""Ranges on every backend: order, limits, counts, old revisions and compaction."""

import asyncio
import string

import pytest

from apiext.storage.backend import Backend, BackendError, CompactedError, FutureRevisionError, RangeResult
from tests.contract.watching import write


def names(result: RangeResult, prefix: str) -> str:
    """Return the last letters of the keys found."""
    return "".join(item.key.removeprefix(prefix) for item in result.items)


async def fill(backend: Backend, prefix: str, letters: str) -> int:
    """Create a key for each letter and return the last revision."""
    return max([(await backend.create(prefix + letter, letter.encode())).revision for letter in letters])


async def test_lists_in_byte_order(backend: Backend, prefix: str) -> None:
    """List keys in the order of their UTF-8 bytes, whatever the order of their creation."""
    await fill(backend, prefix, "b🙂a\uffffZ-0ü/")
    assert names(await backend.list(prefix), prefix) == "-/0Zabü\uffff🙂"


async def test_lists_only_the_prefix(backend: Backend, prefix: str) -> None:
    """List no key before or after the range of the prefix."""
    await fill(backend, prefix, "a")
    for neighbour in (prefix[:-1], prefix[:-1] + "0", prefix[:-1] + ".", prefix[:-1] + "-x"):
        await backend.create(neighbour, b"")
    result = await backend.list(prefix)
    assert (names(result, prefix), result.count, result.more) == ("a", 1, False)
    assert await backend.count(prefix) == 1


async def test_lists_an_empty_range(backend: Backend, prefix: str) -> None:
    """Return the store's revision with an empty range."""
    result = await backend.list(prefix)
    assert (list(result.items), result.count, result.more) == ([], 0, False)
    assert result.revision == await backend.revision()


async def test_lists_everything_without_a_prefix(backend: Backend, prefix: str) -> None:
    """List all keys for the empty prefix."""
    await fill(backend, prefix, "ab")
    assert {prefix + "a", prefix + "b"} <= {item.key for item in (await backend.list("")).items}


async def test_counts_beyond_the_limit(backend: Backend, prefix: str) -> None:
    """Return the number of keys from the range's start on with a limited range."""
    last = await fill(backend, prefix, "abcde")
    result = await backend.list(prefix, limit=2)
    assert (names(result, prefix), result.count, result.more, result.revision) == ("ab", 5, True, last)
    result = await backend.list(prefix, start=prefix + "c", limit=2)
    assert (names(result, prefix), result.count, result.more) == ("cd", 3, True)
    result = await backend.list(prefix, start=prefix + "d", limit=2)
    assert (names(result, prefix), result.count, result.more) == ("de", 2, False)


async def test_starts_anywhere(backend: Backend, prefix: str) -> None:
    """Start a range at a key, after a key (its bytes and a zero byte), or between keys."""
    await fill(backend, prefix, "aceg")
    assert names(await backend.list(prefix, start=prefix + "c"), prefix) == "ceg"
    assert names(await backend.list(prefix, start=prefix + "c\0"), prefix) == "eg"
    assert names(await backend.list(prefix, start=prefix + "d"), prefix) == "eg"


async def test_lists_an_old_revision(backend: Backend, prefix: str) -> None:
    """List an old revision without the updates, deletions and creations since then."""
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


async def test_lists_every_old_revision(backend: Backend, prefix: str) -> None:
    """List each old revision of keys that change often."""
    seen = {}
    revision = {letter: (await backend.create(prefix + letter, b"0")).revision for letter in "ab"}
    for n in range(1, 10):
        for letter in "ab":
            result = await backend.update(prefix + letter, b"%d" % n, expected=revision[letter])
            revision[letter] = result.revision
            seen[result.revision] = [b"%d" % n, b"%d" % (n if letter == "b" else n - 1)]
    for at, values in seen.items():
        assert [item.value for item in (await backend.list(prefix, revision=at)).items] == values


async def test_rejects_a_future_revision(backend: Backend, prefix: str) -> None:
    """Raise FutureRevisionError with the current revision for a revision that has not been reached."""
    last = await fill(backend, prefix, "a")
    with pytest.raises(FutureRevisionError) as caught:
        await backend.list(prefix, revision=last + 1000)
    assert caught.value.current == last
    with pytest.raises(FutureRevisionError):
        await backend.compact(last + 1000)


async def test_compacts_older_revisions_only(backend: Backend, prefix: str) -> None:
    """Reject revisions before the compacted one; keep that one and all values."""
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


async def test_compacts_repeatedly(backend: Backend, prefix: str) -> None:
    """Accept a compaction at the same or an older revision."""
    last = await fill(backend, prefix, "abc")
    await backend.compact(last)
    await backend.compact(last)
    await backend.compact(last - 1)
    assert names(await backend.list(prefix), prefix) == "abc"


async def test_keeps_the_revision_of_a_compacted_deletion(backend: Backend, prefix: str) -> None:
    """Keep the store's revision when its last change is a deletion that is compacted."""
    created = await backend.create(prefix + "a", b"")
    deleted = await backend.delete(prefix + "a", expected=created.revision)
    await backend.compact(deleted.revision)
    assert await backend.revision() == deleted.revision
    assert (await backend.create(prefix + "a", b"")).revision == deleted.revision + 1


async def test_compacts_during_writes(backend: Backend, prefix: str) -> None:
    """Compact the current revision during writes without an effect on writes or values."""

    async def work(letter: str) -> None:
        await write(backend, prefix + letter, *(b"%d" % n for n in range(20)))

    async def compact() -> None:
        for _ in range(5):
            await backend.compact(await backend.revision())

    await asyncio.gather(compact(), *(work(letter) for letter in "abcdefgh"))
    items = (await backend.list(prefix)).items
    assert [(item.key[-1], item.value) for item in items] == [(letter, b"19") for letter in "abcdefgh"]


async def test_pages_show_one_revision(backend: Backend, prefix: str) -> None:
    """Return the state of the first page's revision on all pages, whatever is written between them."""
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


async def test_lists_more_than_a_page(backend: Backend, prefix: str) -> None:
    """List many keys, and more than 4 MB, at one revision during writes."""
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


async def test_counts_existing_keys(backend: Backend, prefix: str) -> None:
    """Count existing keys only."""
    await fill(backend, prefix, string.ascii_letters)
    created = await backend.create(prefix + "0", b"")
    await backend.delete(prefix + "0", expected=created.revision)
    assert await backend.count(prefix) == 52
    assert await backend.count(prefix + "none/") == 0


async def test_rejects_an_invalid_prefix(backend: Backend) -> None:
    """Raise BackendError from reads for a key with a lone surrogate."""
    for call in (backend.get("\ud800"), backend.list("\ud800/"), backend.count("\ud800/")):
        with pytest.raises(BackendError):
            await call
