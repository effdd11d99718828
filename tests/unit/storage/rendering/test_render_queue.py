"""Batches of entries to render."""

import asyncio
import gc
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import cast

import pytest

from apiext.base.meta.errors import StatusError, too_many_requests
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.interface import Codec, Item
from apiext.storage.rendering.renderer import WaitingLimit
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import RenderQueue, Results
from tests.support.builders.widgets import WidgetCodec
from tests.support.event_loop import settle, until


def entries(count: int, *, size: int = 10, prefix: str = "a") -> list[StoredEntry]:
    """Return entries with that many stored bytes each."""
    return [StoredEntry(f"{prefix}{number}", number + 1, b"x" * size) for number in range(count)]


class Renderer:
    """Renders batches when the test lets it."""

    def __init__(self) -> None:
        self.codec = cast("Codec", WidgetCodec("v2"))
        self.queue = RenderQueue(WaitingLimit(5.0, 100, partial(too_many_requests, "too many wait", 1)))
        self.begun: list[list[str]] = []
        self.gates: list[asyncio.Event] = []
        self.error: Exception | None = None

    async def render_batch(self, codec: Codec, entries: Sequence[StoredEntry]) -> Results:
        """Wait, and return the renderings."""
        gate = asyncio.Event()
        self.begun.append([entry.key for entry in entries])
        self.gates.append(gate)
        await gate.wait()
        if self.error is not None:
            raise self.error
        return {
            entry: entry.adopt(self, Item(key=entry.key, revision=entry.revision, data=b"{}", labels={}, fields={})) for entry in entries
        }

    def read(self, wanted: Sequence[StoredEntry]) -> asyncio.Task[Results]:
        """Start to read entries."""
        return asyncio.create_task(self.queue.results(self, self.codec, wanted))

    async def begins(self, count: int) -> None:
        """Wait until that many batches have begun, and see that no more do."""
        await until(lambda: len(self.begun) >= count)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(self.begun) == count

    async def begins_more(self, count: int) -> None:
        """Wait until more batches than that have begun."""
        await until(lambda: len(self.begun) > count)

    def finish(self) -> None:
        """Let all batches end."""
        for gate in self.gates:
            gate.set()


@pytest.fixture
def renderer() -> Renderer:
    """Return a renderer that waits."""
    return Renderer()


async def test_a_long_list_runs_a_few_batches_at_a_time(renderer: Renderer) -> None:
    """Render a long list in batches, three at a time."""
    wanted = entries(2200)
    reader = renderer.read(wanted)
    await renderer.begins(3)
    assert [len(batch) for batch in renderer.begun] == [500, 500, 500]
    renderer.gates[0].set()
    await renderer.begins(4)
    renderer.finish()
    await renderer.begins(5)
    renderer.finish()

    assert list(await reader) == wanted
    assert [len(batch) for batch in renderer.begun] == [500, 500, 500, 500, 200]


async def test_large_entries_make_small_batches(renderer: Renderer) -> None:
    """Limit the bytes of a batch; an entry beyond the limit has one of its own."""
    reader = renderer.read([*entries(3, size=200 * 1024), *entries(1, size=1 << 20, prefix="b")])
    await renderer.begins(3)
    renderer.finish()
    await reader

    assert renderer.begun == [["a0", "a1"], ["a2"], ["b0"]]


async def test_a_single_reader_does_not_wait_for_a_list(renderer: Renderer) -> None:
    """Render one entry beside a long list at once, also one that the list has not reached."""
    wanted = entries(3000)
    reader = renderer.read(wanted)
    await renderer.begins(3)
    (other,) = entries(1, prefix="b")
    first = renderer.read([other])
    await renderer.begins(4)
    second = renderer.read([wanted[-1]])
    renderer.gates[3].set()
    await first
    await renderer.begins(5)

    assert renderer.begun[3] == ["b0"]
    assert wanted[-1].key in renderer.begun[4]
    renderer.gates[4].set()
    await second
    assert not reader.done()
    while not reader.done():
        renderer.finish()
        await asyncio.sleep(0)


async def test_single_readers_share_a_batch_while_all_places_are_taken(renderer: Renderer) -> None:
    """Render the entries of many readers together when they come faster than the webhook answers."""
    readers = [renderer.read([entry]) for entry in entries(40)]
    await renderer.begins(4)
    renderer.finish()
    await renderer.begins(5)
    renderer.finish()
    await asyncio.gather(*readers)

    assert [len(batch) for batch in renderer.begun] == [1, 1, 1, 1, 36]


async def test_an_entry_is_rendered_once(renderer: Renderer) -> None:
    """Share the rendering among readers; those that are cancelled do not end it."""
    wanted = entries(3)
    readers = [renderer.read(wanted) for _ in range(3)]
    await renderer.begins(1)
    readers[0].cancel()
    renderer.finish()
    done = await asyncio.gather(*readers[1:])

    assert [list(results) for results in done] == [wanted, wanted]
    assert await renderer.queue.results(renderer, renderer.codec, wanted) == {}
    assert len(renderer.begun) == 1


async def test_a_reader_cancelled_at_a_pause_leaves_nothing_behind(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Render what a reader had queued when it was cancelled; the codec of a batch that never begins would stay in use."""
    monkeypatch.setattr(Pace, "due", True)
    wanted = entries(3)
    reader = renderer.read(wanted)
    await asyncio.sleep(0)
    reader.cancel()
    await renderer.begins(1)
    renderer.finish()
    await until(lambda: wanted[0].cached(renderer))

    assert renderer.begun == [["a0"]]


async def test_an_unexpected_error_reaches_all_readers(renderer: Renderer) -> None:
    """Raise what rendering raises, and render again for the next reader."""
    wanted = entries(2)
    readers = [renderer.read(wanted) for _ in range(2)]
    await renderer.begins(1)
    renderer.error = RuntimeError("broken")
    renderer.finish()
    assert [str(error) for error in await asyncio.gather(*readers, return_exceptions=True)] == ["broken", "broken"]
    renderer.error = None
    again = renderer.read(wanted)
    await renderer.begins(2)
    renderer.finish()
    assert list(await again) == wanted


async def test_few_readers_wait_for_batches_that_take_long(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse readers with 429 when a hundred wait for a webhook that does not answer; they would take the places of all others."""
    now = [100.0]
    monkeypatch.setattr("apiext.storage.rendering.version_view.time.monotonic", lambda: now[0])
    readers = [renderer.read([entry]) for entry in entries(100)]
    await renderer.begins(4)
    (wanted,) = entries(1, prefix="b")
    patient = renderer.read([wanted])
    await asyncio.sleep(0)
    now[0] += 6.0
    refused = (await renderer.read([wanted]))[wanted]
    monkeypatch.undo()
    renderer.finish()
    await renderer.begins(5)
    renderer.finish()

    assert isinstance(refused, StatusError)
    assert refused.code == 429
    assert wanted in await patient
    await asyncio.gather(*readers)


async def test_batches_of_a_slow_webhook_are_small(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make batches smaller after one that took long, so that later ones end in time, and larger again after quick ones."""
    now = [100.0]
    monkeypatch.setattr("apiext.storage.rendering.version_view.time.monotonic", lambda: now[0])
    sizes = []
    for number, seconds in enumerate((30.0, 0.1, 0.1, 0.1)):
        reader = renderer.read(entries(500, prefix=f"{number}-"))
        done = len(renderer.begun)
        await renderer.begins_more(done)
        sizes.append(len(renderer.begun[done]))
        now[0] += seconds
        while not reader.done():
            renderer.finish()
            await asyncio.sleep(0)
    assert sizes == [500, 83, 166, 332]


class _Failure(Exception):  # noqa: N818 -- no error of anything
    """An exception that can be referred to weakly."""


async def test_a_failure_leaves_no_cycle(renderer: Renderer) -> None:
    """Free the exception of a batch with its readers, without the garbage collector."""
    renderer.error = _Failure("no")
    failures = weakref.WeakSet([renderer.error])
    gc.disable()
    try:
        wanted = entries(2)
        readers = [renderer.read(wanted) for _ in range(2)]
        await renderer.begins(1)
        renderer.finish()
        for reader in readers:
            with suppress(_Failure):
                await reader
        renderer.error = None
        del reader, readers
        await settle()
        left = len(failures)
    finally:
        gc.enable()

    assert not left
