"""Conditional writes and single reads on every backend."""

import asyncio

import pytest

from apiext.base.meta.limits import MAX_STORED_BYTES
from apiext.storage.backend import Backend, BackendError, KeyValue, ValueTooLargeError
from apiext.storage.etcd import messages
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.value.transforming_backend import TransformingBackend


async def test_creates_an_absent_key(backend: Backend, prefix: str) -> None:
    """Create a key that is then read with its value and the revision of its creation."""
    result = await backend.create(prefix + "a", b"one")
    assert result.succeeded
    assert result.revision > 1
    assert result.current is None
    assert await backend.get(prefix + "a") == (KeyValue(prefix + "a", b"one", result.revision), result.revision)


async def test_returns_the_existing_value(backend: Backend, prefix: str) -> None:
    """Change nothing and return the existing value when a created key exists."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.create(prefix + "a", b"two")
    assert not result.succeeded
    assert result.revision == created.revision
    assert result.current == KeyValue(prefix + "a", b"one", created.revision)
    assert await backend.revision() == created.revision


async def test_gets_an_absent_key(backend: Backend, prefix: str) -> None:
    """Return None and the store's revision for an absent key."""
    created = await backend.create(prefix + "a", b"one")
    assert await backend.get(prefix + "b") == (None, created.revision)


async def test_updates_the_expected_revision(backend: Backend, prefix: str) -> None:
    """Update a key that has the expected revision, at a greater one."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.update(prefix + "a", b"two", expected=created.revision)
    assert result.succeeded
    assert result.revision > created.revision
    assert result.current is None
    assert (await backend.get(prefix + "a"))[0] == KeyValue(prefix + "a", b"two", result.revision)


async def test_rejects_an_update_of_another_revision(backend: Backend, prefix: str) -> None:
    """Change nothing and return the current value when an update expects an old revision."""
    created = await backend.create(prefix + "a", b"one")
    updated = await backend.update(prefix + "a", b"two", expected=created.revision)
    result = await backend.update(prefix + "a", b"three", expected=created.revision)
    assert not result.succeeded
    assert result.current == KeyValue(prefix + "a", b"two", updated.revision)
    assert (await backend.get(prefix + "a"))[0] == result.current


async def test_rejects_an_update_of_an_absent_key(backend: Backend, prefix: str) -> None:
    """Return no current value when an updated key is absent."""
    result = await backend.update(prefix + "a", b"one", expected=7)
    assert (result.succeeded, result.current) == (False, None)


async def test_deletes_the_expected_revision(backend: Backend, prefix: str) -> None:
    """Delete a key at a revision of its own, after which the key can be created again."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.delete(prefix + "a", expected=created.revision)
    assert result.succeeded
    assert result.revision > created.revision
    assert result.current is None
    assert await backend.get(prefix + "a") == (None, result.revision)
    again = await backend.create(prefix + "a", b"two")
    assert again.succeeded
    assert again.revision > result.revision


async def test_rejects_a_deletion_of_another_revision(backend: Backend, prefix: str) -> None:
    """Change nothing and return the current value when a deletion expects another revision."""
    created = await backend.create(prefix + "a", b"one")
    result = await backend.delete(prefix + "a", expected=created.revision + 1)
    assert not result.succeeded
    assert result.current == KeyValue(prefix + "a", b"one", created.revision)
    assert (await backend.get(prefix + "a"))[0] == result.current


@pytest.mark.parametrize("expected", [0, 7])
async def test_rejects_a_deletion_of_an_absent_key(backend: Backend, prefix: str, expected: int) -> None:
    """Use no revision when a deleted key is absent, whatever is expected."""
    before = await backend.revision()
    result = await backend.delete(prefix + "a", expected=expected)
    assert (result.succeeded, result.current) == (False, None)
    assert await backend.revision() == before


async def test_stores_any_bytes(backend: Backend, prefix: str) -> None:
    """Store values of any bytes and size, the empty one included, under Unicode keys."""
    values = {"empty": b"", "zero": b"\x00\xff\x00", "größe-中-🙂": bytes(range(256)) * 4000}
    for name, value in values.items():
        await backend.create(prefix + name, value)
    items = (await backend.list(prefix)).items
    assert {item.key.removeprefix(prefix): item.value for item in items} == values


async def test_rejects_an_invalid_key(backend: Backend, prefix: str) -> None:
    """Raise BackendError for a key with a lone surrogate, without an effect on other writes."""
    bad, good = await asyncio.gather(
        backend.create(prefix + "\ud800", b"one"), backend.create(prefix + "a", b"one"), return_exceptions=True
    )
    assert isinstance(bad, BackendError)
    assert not isinstance(good, BaseException)
    assert good.succeeded


async def test_gives_each_write_a_revision(backend: Backend, prefix: str) -> None:
    """Give each concurrent write of different keys a revision of its own."""
    before = await backend.revision()
    results = await asyncio.gather(*(backend.create(f"{prefix}{n}", b"x") for n in range(100)))
    revisions = {result.revision for result in results}
    assert revisions == set(range(before + 1, before + 101))
    assert await backend.revision() == before + 100


async def test_lets_one_concurrent_writer_succeed(backend: Backend, prefix: str) -> None:
    """Let one of several writers that expect the same revision succeed, and return its value to the others."""
    created = await backend.create(prefix + "a", b"0")
    results = await asyncio.gather(*(backend.update(prefix + "a", b"%d" % n, expected=created.revision) for n in range(20)))
    winners = [n for n, result in enumerate(results) if result.succeeded]
    assert len(winners) == 1
    current, _ = await backend.get(prefix + "a")
    assert current == KeyValue(prefix + "a", b"%d" % winners[0], results[winners[0]].revision)
    assert all(result.current == current for result in results if not result.succeeded)


async def test_counts_without_lost_updates(backend: Backend, prefix: str) -> None:
    """Count exactly when writers retry with the current value that a failed update returned."""
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


async def test_reads_acknowledged_writes(backend: Backend, prefix: str) -> None:
    """Return an acknowledged write from each later get, list and revision during other writes."""

    async def check(n: int) -> None:
        result = await backend.create(f"{prefix}{n:03}", b"x")
        found, at = await backend.get(f"{prefix}{n:03}")
        listed = await backend.list(prefix, start=f"{prefix}{n:03}", limit=1)
        assert found is not None
        assert found.revision == result.revision
        assert listed.items[0] == found
        assert min(at, listed.revision, await backend.revision()) >= result.revision

    await asyncio.gather(*(check(n) for n in range(60)))


async def test_cancels_one_writer(backend: Backend, prefix: str) -> None:
    """Keep the outcomes of the other writers when one of them is cancelled."""
    tasks = [asyncio.ensure_future(backend.create(f"{prefix}{n}", b"x")) for n in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results.pop(3), asyncio.CancelledError)
    assert all(not isinstance(result, BaseException) and result.succeeded for result in results)


async def test_reports_health(backend: Backend) -> None:
    """Return from `healthy` when the backend answers; nothing is written for that."""
    before = await backend.revision()

    await backend.healthy()

    assert await backend.revision() == before


async def test_rejects_calls_after_close(backend: Backend, prefix: str) -> None:
    """Raise BackendError from every call after close; a second close does nothing."""
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


async def test_refuses_large_values(backend: Backend, prefix: str) -> None:
    """Refuse values that etcd refuses by default, with its message, and change nothing; keep serving other writes."""
    almost = b"x" * (MAX_STORED_BYTES - 1000)
    before = await backend.create(prefix + "a", almost)
    for value in (almost + b"x" * 2000, b"x" * 2_900_000):
        with pytest.raises(ValueTooLargeError):
            await backend.create(prefix + "b", value)
        with pytest.raises(ValueTooLargeError):
            await backend.update(prefix + "a", value, expected=before.revision)
    with pytest.raises(ValueTooLargeError, match=r"^etcdserver: request is too large$"):
        await backend.create(prefix + "b", b"x" * 1_700_000)

    assert await backend.get(prefix + "b") == (None, before.revision)
    assert (await backend.get(prefix + "a"))[0] == KeyValue(prefix + "a", almost, before.revision)
    assert (await backend.create(prefix + "b", b"small")).succeeded


async def test_names_the_size_of_the_largest_values(backend: Backend, prefix: str) -> None:
    """Refuse values with the message of the reference's etcd client if its request has more than 2 MiB, else with etcd's."""
    if isinstance(backend, TransformingBackend):
        pytest.skip("the sizes are those of stored values, and encryption makes values longer")
    key, limit = prefix + "a", 2 << 20
    length = limit - 2 * len(key) - 50
    while _request_size(key, length + 1) <= limit:
        length += 1

    with pytest.raises(ValueTooLargeError, match=r"^etcdserver: request is too large$"):
        await backend.create(key, b"x" * length)
    for more in (1, 1000, 20_000_000):
        size = _request_size(key, length + more)
        with pytest.raises(ValueTooLargeError, match=rf"^rpc error: code = .* larger than max \({size} vs\. {limit}\)$"):
            await backend.create(key, b"x" * (length + more))


def _request_size(key: str, length: int) -> int:
    """Return the bytes of the reference's request that creates a value of some length."""
    request = rpc.TxnRequest.FromString(messages.conditional(messages.encode(key), b"x" * length, 0))
    request.ClearField("failure")
    return int(request.ByteSize())
