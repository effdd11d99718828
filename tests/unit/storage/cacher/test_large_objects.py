"""Large objects, which worker processes render."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest

from apiext.base.meta import errors, limits
from apiext.base.workers.pool import WorkerPool
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.errors import CorruptObjectError
from apiext.storage.interface import Item, ListOptions, RenderingJob, RenderResult, StoredBytes
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.version_view import render_all
from apiext.storage.rendering.worker_codec import WorkerCodec
from tests.support.builders.widgets import WIDGETS, WidgetCodec, build_widget_codec, seen, watching, where, widget
from tests.support.event_loop import Clock, settle, until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store, running_stores

LARGE = "x" * limits.MAX_INLINE_RENDERING_BYTES


class Remote:
    """Implements RemoteCodec: renders when it may."""

    def __init__(self) -> None:
        self.may_render = asyncio.Event()
        self.may_render.set()
        self.rendered: list[str] = []
        self.error: errors.StatusError | None = None

    def job(self, prefix: str, stored: Sequence[StoredBytes]) -> RenderingJob:
        """Return a job that renders as a worker does."""
        return _Job(self, prefix, stored)

    async def check(self, _prefix: str, _stored: StoredBytes) -> CorruptObjectError | None:
        """Check nothing."""
        raise AssertionError


@dataclass
class _Job:
    """Implements RenderingJob."""

    remote: Remote
    prefix: str
    stored: Sequence[StoredBytes]

    async def run(self) -> Sequence[RenderResult]:
        """Implement RenderingJob.run."""
        await self.remote.may_render.wait()
        if self.remote.error is not None:
            raise self.remote.error
        self.remote.rendered += [key for key, _, _ in self.stored]
        return await render_all(Renderer(self.prefix), WidgetCodec(), self.stored)

    async def call(self, _key: object, _make: object, _size: object = None) -> Any:
        """Make no call: nothing is converted."""
        raise AssertionError


@asynccontextmanager
async def serving(backend: MemoryBackend, **settings: Any) -> AsyncIterator[tuple[CachedStore, WidgetCodec, Remote]]:
    """Yield a store with a codec that has a copy in workers."""
    async with running_stores(backend, **settings) as factory:
        remote = Remote()
        yield cast("CachedStore", factory.store(WIDGETS)), WidgetCodec(remote=remote), remote


async def fill(backend: MemoryBackend, **texts: str) -> None:
    """Create widgets through another server."""
    for name, text in texts.items():
        await direct_store(backend).create(f"a/{name}", widget(f"a/{name}", text=text), WidgetCodec())


async def test_reads_render_large_objects_elsewhere(backend: MemoryBackend) -> None:
    """Get and list large objects as rendered by a worker, once for all readers, and small ones in place."""
    await fill(backend, l=LARGE, s="small")
    async with serving(backend) as (store, codec, remote):
        assert (await store.get("a/l", codec)).object()["spec"]["text"] == LARGE
        before = len(remote.rendered)
        listed = await asyncio.gather(*(store.list("", codec, ListOptions()) for _ in range(3)))
        await store.get("a/l", codec)

        assert [[item.key for item in result.items] for result in listed] == [["a/l", "a/s"]] * 3
        assert remote.rendered == ["a/l"] * (before + 1)


async def test_watches_keep_the_order(backend: MemoryBackend) -> None:
    """Deliver the event of a large object once it is rendered, and later events, bookmarks and newcomers' events not before."""
    clock = Clock()
    async with serving(backend, clock=clock) as (store, codec, remote):
        await fill(backend, s0="small")
        async with watching(store, codec, allow_bookmarks=True) as reader, watching(store, codec, selection=where("spec.text!=a")) as other:
            for each in (reader, other):
                assert await each.take(1) == [("ADDED", "a/s0", 2)]
            remote.may_render.clear()
            await fill(backend, l1=LARGE, s2="small")
            await until(lambda: "a/s2" in store.cache.entries)
            clock.now += 61
            await store.cache.tick()
            waiting = [asyncio.create_task(each.take(2)) for each in (reader, other)]
            async with watching(store, codec, resource_version="3") as late:
                await fill(backend, s3="small")
                await settle()
                assert not any(task.done() for task in waiting)
                remote.may_render.set()

                assert [await task for task in waiting] == [[("ADDED", "a/l1", 3), ("ADDED", "a/s2", 4)]] * 2
                for each in (reader, other):
                    assert await each.take(1) == [("ADDED", "a/s3", 5)]
                assert await late.take(2) == [("ADDED", "a/s2", 4), ("ADDED", "a/s3", 5)]
            assert remote.rendered == ["a/l1"]


async def test_watches_begin_with_large_objects(backend: MemoryBackend) -> None:
    """Render the large objects of the initial state, and those that a resumed watch has missed, before the watch begins."""
    await fill(backend, l1=LARGE, s2="small")
    async with serving(backend) as (store, codec, remote):
        async with watching(store, codec) as reader:
            assert await reader.take(2) == [("ADDED", "a/l1", 2), ("ADDED", "a/s2", 3)]
        await fill(backend, l3=LARGE)
        await until(lambda: "a/l3" in store.cache.entries)
        async with watching(store, codec, resource_version="3") as reader:
            assert await reader.take(1) == [("ADDED", "a/l3", 4)]

        assert remote.rendered == ["a/l1", "a/l3"]


async def test_failing_workers_fail_reads_but_no_watch(backend: MemoryBackend) -> None:
    """Answer a read with the error of the workers; render for a running watch in place."""
    async with serving(backend) as (store, codec, remote), watching(store, codec) as reader:
        remote.error = errors.service_unavailable("no worker")
        await fill(backend, l=LARGE)

        assert seen(await reader.next())[:2] == ("ADDED", "a/l")
    await fill(backend, m=LARGE)
    async with serving(backend) as (store, codec, remote):
        remote.error = errors.service_unavailable("no worker")
        with pytest.raises(errors.StatusError, match="no worker"):
            await store.list("", codec, ListOptions())


async def test_renders_in_a_worker_process() -> None:
    """Render in a real process; return the error of an undecodable object."""
    workers = WorkerPool()
    remote = WorkerCodec(workers, build_widget_codec, "v1", lambda _: {})
    codec, data = WidgetCodec(), WidgetCodec().encode(widget("a/x", text=LARGE)).data
    expected = Renderer("/p/").item(codec, "a/x", data, 7)
    try:
        item, error = await remote.job("/p/", [("a/x", data, 7), ("a/x", b"garbage", 7)]).run()
    finally:
        await workers.close()

    assert isinstance(item, Item)
    assert (item.data, item.labels, item.fields, item.revision) == (expected.data, expected.labels, expected.fields, 7)
    assert isinstance(error, CorruptObjectError)
    assert error.key == "/p/a/x"


async def test_a_closed_store_holds_no_objects(backend: MemoryBackend) -> None:
    """Hold no objects or changes once the store is closed; later reads ask the backend."""
    async with serving(backend) as (store, codec, _):
        await fill(backend, l=LARGE)
        await store.list("", codec, ListOptions())
        await fill(backend, m=LARGE)
        await until(lambda: len(store.cache.history) == 1)
        store.close()

        assert (store.cache.entries, store.cache.range(""), len(store.cache.history)) == ({}, [], 0)
        assert [item.key for item in (await store.list("", codec, ListOptions())).items] == ["a/l", "a/m"]
