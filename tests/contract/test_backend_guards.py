"""Writes that depend on another key, on every backend."""

import asyncio

import pytest

from apiext.storage.backend import Backend, Guard, KeyValue, WriteResult


@pytest.fixture
def gate(prefix: str) -> str:
    """Return the key that writes depend on."""
    return f"{prefix}gate"


async def attempts(backend: Backend, prefix: str, revision: int, guard: Guard) -> list[WriteResult]:
    """Try to create "new", and to update and delete "old", which has the given revision."""
    return [
        await backend.create(prefix + "new", b"1", guard=guard),
        updated := await backend.update(prefix + "old", b"2", expected=revision, guard=guard),
        await backend.delete(prefix + "old", expected=updated.revision if updated.succeeded else revision, guard=guard),
    ]


async def test_writes_when_the_guard_holds(backend: Backend, prefix: str, gate: str) -> None:
    """Perform writes whose guard has its revision like writes without a guard."""
    opened = await backend.create(gate, b"")
    old = await backend.create(prefix + "old", b"1")
    results = await attempts(backend, prefix, old.revision, Guard(gate, opened.revision))

    assert [(result.succeeded, result.guard_failed, result.current) for result in results] == [(True, False, None)] * 3
    assert [result.revision for result in results] == [old.revision + 1, old.revision + 2, old.revision + 3]
    assert [item.key for item in (await backend.list(prefix)).items] == [gate, prefix + "new"]


@pytest.mark.parametrize("how", ["changed", "gone", "never"])
async def test_writes_nothing_when_the_guard_fails(backend: Backend, prefix: str, gate: str, how: str) -> None:
    """Write nothing and report the guard when its key was changed, deleted or never existed."""
    revision = 7
    if how != "never":
        revision = (await backend.create(gate, b"")).revision
        await (backend.update(gate, b"1", expected=revision) if how == "changed" else backend.delete(gate, expected=revision))
    old = await backend.create(prefix + "old", b"1")
    results = await attempts(backend, prefix, old.revision, Guard(gate, revision))

    assert [(result.succeeded, result.guard_failed) for result in results] == [(False, True)] * 3
    assert (await backend.get(prefix + "old"))[0] == KeyValue(prefix + "old", b"1", old.revision)
    assert await backend.revision() == old.revision


async def test_accepts_an_absent_guard_key(backend: Backend, prefix: str, gate: str) -> None:
    """Write when the guard requires that its key is absent and it is."""
    done = await backend.create(prefix + "a", b"", guard=Guard(gate, 0))
    await backend.create(gate, b"")
    refused = await backend.create(prefix + "b", b"", guard=Guard(gate, 0))

    assert (done.succeeded, refused.succeeded, refused.guard_failed) == (True, False, True)


async def test_distinguishes_the_key_from_its_guard(backend: Backend, prefix: str, gate: str) -> None:
    """Report the current value when the key has another revision, also when its guard does not hold."""
    opened = await backend.create(gate, b"")
    old = await backend.create(prefix + "old", b"1")
    current = KeyValue(prefix + "old", b"1", old.revision)
    holds, fails = Guard(gate, opened.revision), Guard(gate, opened.revision + 1)
    conflicting = [
        await backend.create(prefix + "old", b"2", guard=holds),
        await backend.update(prefix + "old", b"2", expected=old.revision + 1, guard=holds),
        await backend.delete(prefix + "old", expected=old.revision + 1, guard=holds),
    ]
    absent = await backend.update(prefix + "none", b"2", expected=old.revision, guard=holds)
    both = await backend.update(prefix + "old", b"2", expected=old.revision + 1, guard=fails)

    assert [(result.guard_failed, result.current) for result in conflicting] == [(False, current)] * 3
    assert (absent.succeeded, absent.guard_failed, absent.current) == (False, False, None)
    assert (both.succeeded, both.guard_failed, both.current) == (False, False, current)


async def test_checks_the_guard_atomically(backend: Backend, prefix: str, gate: str) -> None:
    """Commit no write at a greater revision than the change of its guard when both run at once."""
    opened = await backend.create(gate, b"open")
    guard = Guard(gate, opened.revision)

    async def work(number: int) -> list[WriteResult]:
        return [await backend.create(f"{prefix}{number}/{step}", b"", guard=guard) for step in range(20)]

    async def close() -> WriteResult:
        for step in range(3):
            await backend.create(f"{prefix}before/{step}", b"")
        return await backend.update(gate, b"closed", expected=opened.revision)

    closed, *worked = await asyncio.gather(close(), *(work(number) for number in range(8)))
    assert isinstance(closed, WriteResult)
    outcomes = [result for results in worked if isinstance(results, list) for result in results]

    assert all(result.succeeded is (result.revision < closed.revision) for result in outcomes)
    assert all(result.guard_failed is not result.succeeded for result in outcomes)
    assert 0 < sum(result.succeeded for result in outcomes) < len(outcomes)
