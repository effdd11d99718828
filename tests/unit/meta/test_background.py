"""Background work of heavy requests."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from apiext.meta import background

MANY = 50


@pytest.fixture(autouse=True)
def heavy() -> Iterator[None]:
    """Make the test a heavy request."""
    token = background.is_heavy.set(True)
    yield
    background.is_heavy.reset(token)


@contextmanager
def busy() -> Iterator[list[asyncio.Task[bool]]]:
    """Keep all threads busy until the end of the block; yield the waiting tasks."""
    go = threading.Event()
    try:
        yield [asyncio.ensure_future(background.begin(go.wait, 30)) for _ in range(background.THREADS)]
    finally:
        go.set()


async def test_leaves_the_default_executor_free() -> None:
    """Run work of the loop's default executor (files, compression, names) whatever background work waits."""
    go = threading.Event()
    tasks = [asyncio.ensure_future(background.run(go.wait, 30)) for _ in range(MANY)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 1), 30) == 1
    finally:
        go.set()
    assert all(await asyncio.gather(*tasks))


async def test_runs_few_at_once() -> None:
    """Run as much work at once as there are threads."""
    lock, now, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1

    await asyncio.gather(*(background.run(work) for _ in range(MANY)))

    assert 1 <= most <= background.THREADS


async def test_runs_continuations_first() -> None:
    """Run the next part of a parsed request before a new request."""
    done: list[str] = []
    with busy():
        await asyncio.sleep(0)
        tasks = [asyncio.ensure_future(background.begin(done.append, f"new {number}")) for number in range(MANY)]
        await asyncio.sleep(0)
        tasks += [asyncio.ensure_future(background.run(done.append, f"begun {number}")) for number in range(MANY)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert {text.split()[0] for text in done[: MANY - background.THREADS]} == {"begun"}


async def test_skips_cancelled_work() -> None:
    """Skip the work of a request that was cancelled while it waited."""
    done: list[int] = []
    with busy() as tasks:
        await asyncio.sleep(0)
        late = asyncio.ensure_future(background.begin(done.append, 1))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    await background.begin(done.append, 2)

    assert done == [2]


@pytest.mark.parametrize("rounds", range(8))
async def test_cancellation_frees_the_thread(rounds: int) -> None:
    """Free the thread of a request that is cancelled while it waits, at its turn, during its work, or after it."""
    done: list[str] = []
    tasks = [asyncio.ensure_future(background.begin(done.append, "first")) for _ in range(background.THREADS)]
    late = asyncio.ensure_future(background.begin(done.append, "late"))
    for _ in range(rounds):
        await asyncio.sleep(0)
    late.cancel()
    await asyncio.gather(*tasks, late, return_exceptions=True)

    assert await asyncio.wait_for(asyncio.gather(*(background.run(len, "four") for _ in range(MANY))), 30) == [4] * MANY


async def test_passes_context_and_errors() -> None:
    """Run work in the request's context, and raise its exception in the request."""
    assert await background.run(background.is_heavy.get)
    with pytest.raises(ZeroDivisionError):
        await background.run(lambda: 1 // 0)


async def test_runs_light_requests_at_once() -> None:
    """Run the work of a light request in the calling thread."""
    background.is_heavy.set(False)

    assert await background.run(threading.get_ident) == threading.get_ident()
