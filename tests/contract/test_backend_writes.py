"""Guarded writes and single reads, over both backends."""

import asyncio

import pytest

from apiext.storage.backend import Backend, BackendError, KeyValue


async def test_create_writes_what_was_absent(backend: Backend, prefix: str) -> None:
    """A created key is read with its value, at the revision of its creation."""
    result = await backend.create(prefix + "a", b"one")
    assert result.succeeded
    assert result.revision > 1
    assert result.current is None
    assert await backend.get(prefix + "a") == (KeyValue(prefix + "a", b"one", result.revision), result.revision)


async def test_create_fails_with_what_is_there(backend: Backend, prefix: str) -> None:
    """Creating an existing key changes nothing and returns the existing value."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.create(prefix + "a", b"two")
    assert not result.succeeded
    assert result.revision == created.revision
    assert result.current == KeyValue(prefix + "a", b"one", created.revision)
    assert await backend.revision() == created.revision


async def test_get_of_an_absent_key(backend: Backend, prefix: str) -> None:
    """An absent key reads as None, at the store's revision."""
    created = await backend.create(prefix + "a", b"one")
    assert await backend.get(prefix + "b") == (None, created.revision)


async def test_update_replaces_the_expected_revision(backend: Backend, prefix: str) -> None:
    """An update at the expected revision gets a greater one; nothing stood in its way."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.update(prefix + "a", b"two", expected=created.revision)
    assert result.succeeded
    assert result.revision > created.revision
    assert result.current is None
    assert (await backend.get(prefix + "a"))[0] == KeyValue(prefix + "a", b"two", result.revision)


async def test_update_fails_at_another_revision(backend: Backend, prefix: str) -> None:
    """An update that expects an old revision changes nothing and returns the current value."""
    created = await backend.create(prefix + "a", b"one")
    updated = await backend.update(prefix + "a", b"two", expected=created.revision)
    result = await backend.update(prefix + "a", b"three", expected=created.revision)
    assert not result.succeeded
    assert result.current == KeyValue(prefix + "a", b"two", updated.revision)
    assert (await backend.get(prefix + "a"))[0] == result.current


async def test_update_of_an_absent_key_fails(backend: Backend, prefix: str) -> None:
    """Updating an absent key fails without a current value."""
    result = await backend.update(prefix + "a", b"one", expected=7)
    assert (result.succeeded, result.current) == (False, None)


async def test_delete_removes_the_expected_revision(backend: Backend, prefix: str) -> None:
    """A deletion has a revision of its own; the key can be created again."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.delete(prefix + "a", expected=created.revision)
    assert result.succeeded
    assert result.revision > created.revision
    assert result.current is None
    assert await backend.get(prefix + "a") == (None, result.revision)
    again = await backend.create(prefix + "a", b"two")
    assert again.succeeded
    assert again.revision > result.revision


async def test_delete_fails_at_another_revision(backend: Backend, prefix: str) -> None:
    """A deletion that expects another revision changes nothing and returns the current value."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.delete(prefix + "a", expected=created.revision + 1)
    assert not result.succeeded
    assert result.current == KeyValue(prefix + "a", b"one", created.revision)
    assert (await backend.get(prefix + "a"))[0] == result.current


@pytest.mark.parametrize("expected", [0, 7])
async def test_delete_of_an_absent_key_fails(backend: Backend, prefix: str, expected: int) -> None:
    """Deleting an absent key fails and spends no revision, whatever is expected."""
    before = await backend.revision()
    result = await backend.delete(prefix + "a", expected=expected)
    assert (result.succeeded, result.current) == (False, None)
    assert await backend.revision() == before


async def test_any_bytes_are_kept(backend: Backend, prefix: str) -> None:
    """Values are bytes of any kind and size, the empty one too; keys are Unicode."""
    values = {"empty": b"", "zero": b"\x00\xff\x00", "größe-中-🙂": bytes(range(256)) * 4000}
    for name, value in values.items():
        await backend.create(prefix + name, value)
    items = (await backend.list(prefix)).items
    assert {item.key.removeprefix(prefix): item.value for item in items} == values


async def test_a_key_that_is_no_text_is_refused(backend: Backend, prefix: str) -> None:
    """A lone surrogate in a key is an error of the backend's own kind and harms no other write."""
    bad, good = await asyncio.gather(
        backend.create(prefix + "\ud800", b"one"), backend.create(prefix + "a", b"one"), return_exceptions=True
    )
    assert isinstance(bad, BackendError)
    assert not isinstance(good, BaseException)
    assert good.succeeded


async def test_revisions_increase_across_keys(backend: Backend, prefix: str) -> None:
    """Concurrent writes of different keys each get a revision of their own."""
    before = await backend.revision()
    results = await asyncio.gather(*(backend.create(f"{prefix}{n}", b"x") for n in range(100)))
    revisions = {result.revision for result in results}
    assert revisions == set(range(before + 1, before + 101))
    assert await backend.revision() == before + 100


async def test_one_of_many_wins(backend: Backend, prefix: str) -> None:
    """Of concurrent writers that expect the same revision one succeeds, and the others see its value."""
    created = await backend.create(prefix + "a", b"0")
    results = await asyncio.gather(*(backend.update(prefix + "a", b"%d" % n, expected=created.revision) for n in range(20)))
    winners = [n for n, result in enumerate(results) if result.succeeded]
    assert len(winners) == 1
    current, _ = await backend.get(prefix + "a")
    assert current == KeyValue(prefix + "a", b"%d" % winners[0], results[winners[0]].revision)
    assert all(result.current == current for result in results if not result.succeeded)


async def test_counter_loses_nothing(backend: Backend, prefix: str) -> None:
    """Writers that retry a guarded update from the current value it returns count exactly."""
    await backend.create(prefix + "n", b"0")

    async def increment() -> None:
        current = (await backend.get(prefix + "n"))[0]
        while current is not None:
            result = await backend.update(prefix + "n", b"%d" % (int(current.value) + 1), expected=current.revision)
            if result.succeeded:
                return
            current = result.current

    await asyncio.gather(*(increment() for _ in range(30)))
    current, _ = await backend.get(prefix + "n")
    assert current is not None
    assert current.value == b"30"


async def test_a_read_sees_every_acknowledged_write(backend: Backend, prefix: str) -> None:
    """While others write, a get, a list and the revision that begin after an acknowledgement see the write."""

    async def check(n: int) -> None:
        result = await backend.create(f"{prefix}{n:03}", b"x")
        found, at = await backend.get(f"{prefix}{n:03}")
        listed = await backend.list(prefix, start=f"{prefix}{n:03}", limit=1)
        assert found is not None
        assert found.revision == result.revision
        assert listed.items[0] == found
        assert min(at, listed.revision, await backend.revision()) >= result.revision

    await asyncio.gather(*(check(n) for n in range(60)))


async def test_a_cancelled_writer_harms_nobody(backend: Backend, prefix: str) -> None:
    """Cancelling one of concurrent writers leaves the others' outcomes as they are."""
    tasks = [asyncio.ensure_future(backend.create(f"{prefix}{n}", b"x")) for n in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results.pop(3), asyncio.CancelledError)
    assert all(not isinstance(result, BaseException) and result.succeeded for result in results)


async def test_healthy_returns(backend: Backend) -> None:
    """A backend that answers is healthy."""
    await backend.healthy()


async def test_a_closed_backend_refuses(backend: Backend, prefix: str) -> None:
    """After close, every call raises an error of the backend's own kind; closing again does nothing."""
    await backend.close()
    await backend.close()
    calls = (
        backend.get(prefix),
        backend.list(prefix),
        backend.count(prefix),
        backend.create(prefix, b""),
        backend.update(prefix, b"", expected=1),
        backend.delete(prefix, expected=1),
        backend.revision(),
        backend.request_progress(),
        backend.compact(1),
        backend.healthy(),
    )
    for call in calls:
        with pytest.raises(BackendError):
            await call
