"""Stores whose revisions begin above those of another store."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.storage import continue_token
from apiext.storage.backend import BackendError
from apiext.storage.backends.revision_offset import OffsetBackend, with_offset
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions, VersionMatch
from tests.support.builders.widgets import WIDGETS, WidgetCodec, watching, widget
from tests.support.servers.memory_backend import MemoryBackend

HOST = "987654321"
"""A revision of the other store."""


@pytest.fixture(params=[True, False], ids=["cached", "direct"])
async def factory(request: pytest.FixtureRequest) -> AsyncIterator[StoreFactory]:
    """Return a factory of stores with an offset."""
    factory = StoreFactory(OffsetBackend(MemoryBackend(), REVISION_BASE), watch_cache=request.param, compaction_interval=0)
    await factory.start()
    yield factory
    await factory.close()


async def test_expires_revisions_of_the_other_store(factory: StoreFactory) -> None:
    """Answer 410 to watches, exact lists and pages at revisions of the other store."""
    store, codec = factory.store(WIDGETS), WidgetCodec()
    await store.create("a/x", widget("a/x"), codec)
    async with watching(store, codec, resource_version=HOST) as reader:
        events = await reader.rest()
    status = json_codec.loads(events[0].line)["object"]
    token = continue_token.encode("a/x\0", int(HOST))

    assert [event.type for event in events] == [EventType.ERROR]
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert "too old" in status["message"]
    for options, words in (
        (ListOptions(resource_version=HOST, match=VersionMatch.EXACT), "The resourceVersion for the provided list is too old"),
        (ListOptions(resource_version=HOST, limit=2), "The resourceVersion for the provided list is too old"),
        (ListOptions(continue_token=token, limit=2), "The provided continue parameter is too old"),
    ):
        with pytest.raises(StatusError, match=words) as caught:
            await store.list("", codec, options)
        assert (caught.value.code, caught.value.reason) == (410, "Expired")


async def test_reads_not_older_than_the_other_store(factory: StoreFactory) -> None:
    """Return the present state, at a greater revision, for reads not older than a revision of the other store."""
    store, codec = factory.store(WIDGETS), WidgetCodec()
    created = await store.create("a/x", widget("a/x"), codec)
    listed = await store.list("", codec, ListOptions(resource_version=HOST, match=VersionMatch.NOT_OLDER_THAN))
    plain = await store.list("", codec, ListOptions(resource_version=HOST))
    read = await store.get("a/x", codec, resource_version=HOST)

    assert created.revision > REVISION_BASE > int(HOST)
    assert [item.revision for item in (*listed.items, *plain.items, read)] == [created.revision] * 3
    assert min(listed.revision, plain.revision) >= created.revision
    assert json_codec.loads(read.data)["metadata"]["resourceVersion"] == str(created.revision)


async def test_records_the_offset_once(backend: MemoryBackend) -> None:
    """Record an offset on request, and use it from then on."""
    assert await with_offset(backend, "/registry", begin=False) is backend
    before = await backend.revision()
    opened = [await with_offset(backend, "/registry", begin=begin) for begin in (True, True, False)]
    record, _ = await backend.get("/registry/apiext/revision-base")

    assert record is not None
    assert (record.value, record.revision) == (b'{"base":1000000000000000}\n', before + 1)
    assert [await based.revision() for based in opened] == [REVISION_BASE + before + 1] * 3


async def test_concurrent_servers_agree(backend: MemoryBackend) -> None:
    """Use the same offset in servers that record one at the same time."""
    opened = await asyncio.gather(*(with_offset(backend, "/x", begin=True) for _ in range(5)))

    assert len({await based.revision() for based in opened}) == 1


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"base":"7"}', b'{"base":-1}', b"\xff"])
async def test_rejects_an_invalid_record(backend: MemoryBackend, value: bytes) -> None:
    """Raise BackendError for an invalid record."""
    await backend.create("/registry/apiext.dev/revision-base", value)

    with pytest.raises(BackendError, match="revision-base"):
        await with_offset(backend, "/registry", begin=False)
