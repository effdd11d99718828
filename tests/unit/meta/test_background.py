"""Work of heavy requests is done apart, few of it at once, and what has been begun is ended first."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from apiext.meta import background

MANY = 50


@pytest.fixture(autouse=True)
def heavy() -> Iterator[None]:
    """The tests are heavy requests."""
    token = background.is_heavy.set(True)
    yield
    background.is_heavy.reset(token)


@contextmanager
def busy() -> Iterator[list[asyncio.Task[bool]]]:
    """All threads busy until the end of the block, and the tasks that wait for them."""
    go = threading.Event()
    try:
        yield [asyncio.ensure_future(background.begin(go.wait, 30)) for _ in range(background.THREADS)]
    finally:
        go.set()


async def test_others_who_need_a_thread_do_not_wait() -> None:
    """What the loop's own threads do (files, compression, names) goes on however much work there is."""
    go = threading.Event()
    tasks = [asyncio.ensure_future(background.run(go.wait, 30)) for _ in range(MANY)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 1), 10) == 1
    finally:
        go.set()
    assert all(await asyncio.gather(*tasks))


async def test_few_work_at_once() -> None:
    """So that the loop gets its share of the interpreter, and few bodies are parsed at the same time."""
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


async def test_what_has_been_begun_goes_first() -> None:
    """A request that has been parsed is ended before another one is."""
    done: list[str] = []
    with busy():
        await asyncio.sleep(0)
        tasks = [asyncio.ensure_future(background.begin(done.append, f"new {number}")) for number in range(MANY)]
        await asyncio.sleep(0)
        tasks += [asyncio.ensure_future(background.run(done.append, f"begun {number}")) for number in range(MANY)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert {text.split()[0] for text in done[: MANY - background.THREADS]} == {"begun"}


async def test_what_nobody_waits_for_any_more_is_not_done() -> None:
    """A request whose time is over before its turn comes costs nothing."""
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
async def test_who_gives_up_makes_room(rounds: int) -> None:
    """Whenever that happens: while it waits, when its turn has just come, while its thread works, or after that."""
    done: list[str] = []
    tasks = [asyncio.ensure_future(background.begin(done.append, "first")) for _ in range(background.THREADS)]
    late = asyncio.ensure_future(background.begin(done.append, "late"))
    for _ in range(rounds):
        await asyncio.sleep(0)
    late.cancel()
    await asyncio.gather(*tasks, late, return_exceptions=True)

    assert await asyncio.wait_for(asyncio.gather(*(background.run(len, "four") for _ in range(MANY))), 10) == [4] * MANY


async def test_errors_and_context_come_across() -> None:
    """The work sees the request's context; what it raises, the request gets."""
    assert await background.run(background.is_heavy.get)
    with pytest.raises(ZeroDivisionError):
        await background.run(lambda: 1 // 0)


async def test_a_light_request_stays_where_it_is() -> None:
    """Its work is done at once."""
    background.is_heavy.set(False)

    assert await background.run(threading.get_ident) == threading.get_ident()
