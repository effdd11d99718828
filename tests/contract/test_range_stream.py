"""Reads of large ranges by RangeStream of a real etcd, and by pages from one that lacks it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from apiext.storage.backend import Backend, CompactedError, KeyValue, NotStreamedError, UnavailableError
from apiext.storage.backends.measured_backend import MeasuredBackend
from apiext.storage.backends.revision_offset import OffsetBackend
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import ListOptions
from apiext.storage.paged_reads import pages
from apiext.storage.value.transforming_backend import TransformingBackend
from hack.lib.servers.etcd import Etcd
from tests.contract.encryption import encryption
from tests.contract.proxy import Proxy
from tests.support.builders.widgets import WIDGETS, WidgetCodec, widget

LACKING = b"/etcdserverpb.KV/RangeStream", b"/etcdserverpb.KV/RangeXXXXXX"
WRAPPERS: list[Callable[[Backend], Backend]] = [
    lambda backend: backend,
    lambda backend: MeasuredBackend(backend, "/registry"),
    lambda backend: OffsetBackend(backend, 10**15),
    lambda backend: TransformingBackend(backend, "/registry", encryption()),
]


async def _fill(backend: Backend, prefix: str, count: int, size: int = 10) -> None:
    for first in range(0, count, 100):
        names = range(first, min(first + 100, count))
        await asyncio.gather(*(backend.create(f"{prefix}{name:06}", b"%06d" % name + b"x" * size) for name in names))


async def _read(backend: Backend, prefix: str, start: str = "") -> list[KeyValue]:
    return [pair async for page in pages(backend, prefix, start=start) for pair in page.items]


@pytest.fixture
async def etcd_backend(etcd: Etcd) -> AsyncIterator[EtcdBackend]:
    """Yield a backend over etcd."""
    backend = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,)))
    yield backend
    await backend.close()


@pytest.mark.parametrize("wrap", WRAPPERS, ids=["etcd", "measured", "offset", "encrypted"])
async def test_streams_one_revision(etcd_backend: EtcdBackend, prefix: str, wrap: Callable[[Backend], Backend]) -> None:
    """Read everything at the revision of the first page, though keys change, come and go meanwhile."""
    backend = wrap(etcd_backend)
    await _fill(backend, prefix, 1200)
    before = (await backend.list(prefix)).items
    found: list[KeyValue] = []
    revisions = set()
    async with aclosing(pages(backend, prefix)) as reading:
        async for page in reading:
            if not found:
                await backend.update(before[-1].key, b"changed", expected=before[-1].revision)
                await backend.delete(before[-2].key, expected=before[-2].revision)
                await backend.create(f"{prefix}zzz", b"new")
            found += page.items
            revisions.add(page.revision)

    assert found == before
    assert len(revisions) == 1


async def test_streams_large_values(etcd_backend: EtcdBackend, prefix: str) -> None:
    """Read more than the window of a stream holds, in messages that grow and shrink."""
    await _fill(etcd_backend, prefix, 900)
    for number in range(12):
        await etcd_backend.create(f"{prefix}large-{number:02}", bytes([number]) * 1_000_000)
    stream = etcd_backend.stream(prefix, start="", revision=await etcd_backend.revision())
    assert stream is not None
    found = [pair async for items in stream for pair in items]

    assert found == (await etcd_backend.list(prefix)).items
    assert await _read(etcd_backend, prefix, f"{prefix}000850") == found[850:]


async def test_reads_pages_from_a_server_without_streams(etcd: Etcd, prefix: str) -> None:
    """Read pages where the server lacks the call; ask it again on the next connection only."""
    async with Proxy(etcd.port) as proxy:
        proxy.asked = LACKING
        backend = await EtcdBackend.connect(EtcdConfig(servers=(proxy.url,)))
        await _fill(backend, prefix, 100)
        revision = await backend.revision()
        stream = backend.stream(prefix, start="", revision=revision)
        assert stream is not None
        with pytest.raises(NotStreamedError):
            await anext(stream)
        assert backend.stream(prefix, start="", revision=revision) is None
        assert len(await _read(backend, prefix)) == 100

        proxy.asked = b"", b""
        await proxy.cut()
        proxy.listen()
        assert await backend.count(prefix) == 100
        again = backend.stream(prefix, start="", revision=revision)
        assert again is not None
        assert [pair async for items in again for pair in items] == (await backend.list(prefix)).items
        await backend.close()


@pytest.mark.parametrize("lacking", [False, True])
async def test_loads_a_cache(etcd: Etcd, prefix: str, lacking: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    """Load a cache with the same objects, from a server with the call and from one without."""
    codec = WidgetCodec()
    async with Proxy(etcd.port) as proxy:
        proxy.asked = LACKING if lacking else (b"", b"")
        backend = MeasuredBackend(await EtcdBackend.connect(EtcdConfig(servers=(proxy.url,))), prefix)
        writer, reader = (StoreFactory(backend, prefix=prefix, compaction_interval=0) for _ in range(2))
        for factory in (writer, reader):
            await factory.start()
        await asyncio.gather(*(writer.store(WIDGETS).create(f"a/{name}", widget(f"a/{name}"), codec) for name in range(50)))
        listed = await reader.store(WIDGETS).list("", codec, ListOptions())
        streams = backend.statistics.durations.get(("listStream", "example.com", "widgets"))
        for factory in (reader, writer):
            await factory.close()
        await backend.close()

    assert len(listed.items) == 50
    assert (streams is None) is lacking


async def test_continues_after_a_lost_connection(etcd: Etcd, prefix: str) -> None:
    """Read the rest by pages after the connection of the stream is lost."""
    async with Proxy(etcd.port) as proxy:
        backend = await EtcdBackend.connect(EtcdConfig(servers=(proxy.url,)))
        await _fill(backend, prefix, 200, size=100_000)
        found: list[str] = []
        async for page in pages(backend, prefix):
            if 8 < len(found) < 100:
                await proxy.cut()
                proxy.listen()
            found += [pair.key for pair in page.items]
        await backend.close()

    assert found == [f"{prefix}{name:06}" for name in range(200)]


async def test_gives_up_a_silent_stream(etcd: Etcd, prefix: str) -> None:
    """End a stream whose server sends nothing for too long."""
    async with Proxy(etcd.port) as proxy:
        backend = await EtcdBackend.connect(EtcdConfig(servers=(proxy.url,), attempt_timeout=0.1))
        revision = (await backend.create(f"{prefix}a", b"")).revision
        proxy.hold()
        stream = backend.stream(prefix, start="", revision=revision)
        assert stream is not None
        with pytest.raises(UnavailableError, match="sends nothing"):
            await anext(stream)
        proxy.release()
        assert await backend.count(prefix) == 1
        await backend.close()


async def test_refuses_other_revisions(etcd_backend: EtcdBackend, prefix: str) -> None:
    """Raise the error of a list if the revision was compacted, and leave one that is not reached to lists."""
    backend = etcd_backend
    created = await backend.create(f"{prefix}a", b"1")
    updated = await backend.update(f"{prefix}a", b"2", expected=created.revision)
    await backend.compact(updated.revision)
    old, future = (backend.stream(prefix, start="", revision=revision) for revision in (created.revision, updated.revision + 100))
    assert old is not None
    with pytest.raises(CompactedError):
        await anext(old)
    assert future is not None
    with pytest.raises(UnavailableError, match="has not reached the revision"):
        await anext(future)


async def test_may_be_disabled(etcd: Etcd, prefix: str) -> None:
    """Read pages only if the configuration says so."""
    backend = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,), range_stream=False))
    await _fill(backend, prefix, 20)

    assert backend.stream(prefix, start="", revision=1) is None
    assert len(await _read(backend, prefix)) == 20
    await backend.close()
