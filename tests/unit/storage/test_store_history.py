"""A store whose data goes back under the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.storage import continue_token
from apiext.storage.backend import Backend, UnavailableError
from apiext.storage.backends import paused_backend
from apiext.storage.backends.measured_backend import MeasuredBackend
from apiext.storage.backends.revision_offset import OffsetBackend, with_offset
from apiext.storage.errors import KeyNotFoundError
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions, Store, VersionMatch
from apiext.storage.store_history import StoreHistory
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, watching, widget
from tests.support.event_loop import until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores

pytestmark = pytest.mark.usefixtures("impatient")
CODEC = WidgetCodec()


class Server:
    """The stores of one server on a backend, and what it knows of their history."""

    def __init__(self, stores: StoreFactory, backend: MeasuredBackend, history: StoreHistory) -> None:
        self.stores = stores
        self.backend = backend
        self.history = history

    @property
    def widgets(self) -> Store:
        """Return the store of widgets."""
        return self.stores.store(WIDGETS)

    async def names(self) -> list[str]:
        """Return the keys of all widgets."""
        return [item.key for item in (await self.widgets.list("", CODEC, ListOptions())).items]


@asynccontextmanager
async def serving(backend: Backend, *, watch_cache: bool = True) -> AsyncIterator[Server]:
    """Yield a server on a backend."""
    measured = MeasuredBackend(await with_offset(backend, "/registry", begin=False), "/registry")
    async with running_stores(measured, watch_cache=watch_cache, max_wait=30) as stores:
        history = StoreHistory(measured, "/registry", stores.feed)
        history.start()
        try:
            yield Server(stores, measured, history)
        finally:
            await history.close()


@pytest.fixture(params=[0, 10**15], ids=["plain", "based"])
def base(request: pytest.FixtureRequest, backend: MemoryBackend) -> Backend:
    """Return a backend, whose revisions may have an offset already."""
    found: Backend = OffsetBackend(backend, request.param) if request.param else backend
    return found


@pytest.mark.parametrize("watch_cache", [True, False], ids=["cached", "direct"])
async def test_shows_what_is_stored(backend: MemoryBackend, base: Backend, *, watch_cache: bool) -> None:
    """Show the data that came back, and every later write; end watches with 410, and give newer revisions than before to all objects."""
    async with serving(base, watch_cache=watch_cache) as server:
        store = server.widgets
        kept = await store.create("a/kept", widget("a/kept"), CODEC)
        await store.create("a/changed", widget("a/changed", color="old"), CODEC)
        snapshot = await backend.revision()
        await change(store, CODEC, "a/changed", color="new")
        for number in range(19):
            await store.create(f"a/gone{number}", widget(f"a/gone{number}"), CODEC)
        gone = await store.create("a/gone19", widget("a/gone19"), CODEC)
        before = await store.list("", CODEC, ListOptions())
        async with watching(store, CODEC, resource_version=str(before.revision)) as reader:
            await backend.go_back(snapshot)
            created = await store.create("a/new", widget("a/new"), CODEC)
            await until(lambda: server.history.problem != "" or server.backend.inner is not base)
            async with asyncio.timeout(30):
                if watch_cache:
                    events = await reader.rest()
                    assert [event.type for event in events][-1] is EventType.ERROR
                    assert json_codec.loads(events[-1].line)["object"]["code"] == 410
            assert await server.names() == ["a/changed", "a/kept", "a/new"]
            await until(lambda: not server.history.problem)
        later = await store.create("a/later", widget("a/later"), CODEC)
        listed = await store.list("", CODEC, ListOptions())
        with pytest.raises(KeyNotFoundError):
            await store.get("a/gone0", CODEC)

        assert {item.key for item in listed.items} == {"a/changed", "a/kept", "a/new", "a/later"}
        assert min(item.revision for item in listed.items) > gone.revision > kept.revision
        assert (await store.get("a/later", CODEC)).revision == later.revision
        assert (await store.get("a/changed", CODEC)).object()["spec"]["color"] == "old"
        assert created.key == "a/new"


async def test_expires_what_clients_have_seen(backend: MemoryBackend) -> None:
    """Answer 410 to watches, exact lists and pages at revisions of the lost history, also once the store has grown beyond them."""
    async with serving(backend) as server:
        store = server.widgets
        await store.create("a/kept", widget("a/kept"), CODEC)
        snapshot = await backend.revision()
        for number in range(5):
            await store.create(f"a/gone{number}", widget(f"a/gone{number}"), CODEC)
        seen = (await store.list("", CODEC, ListOptions())).revision
        await backend.go_back(snapshot)
        for number in range(20):
            await store.create(f"a/new{number}", widget(f"a/new{number}"), CODEC)
        await until(lambda: not server.history.problem)
        async with watching(store, CODEC, resource_version=str(seen)) as reader:
            events = await reader.rest()

        assert [json_codec.loads(event.line)["object"]["code"] for event in events] == [410]
        for options in (
            ListOptions(resource_version=str(seen), match=VersionMatch.EXACT),
            ListOptions(continue_token=continue_token.encode("a/kept\0", seen), limit=2),
        ):
            with pytest.raises(StatusError) as caught:
                await store.list("", CODEC, options)
            assert caught.value.code == 410
        assert len(await server.names()) == 21


async def test_servers_agree(backend: MemoryBackend) -> None:
    """Use one offset in all servers on the store, and in one that starts later."""
    async with serving(backend) as first, serving(backend) as second:
        await first.widgets.create("a/kept", widget("a/kept"), CODEC)
        snapshot = await backend.revision()
        for number in range(5):
            await first.widgets.create(f"a/gone{number}", widget(f"a/gone{number}"), CODEC)
        assert len(await second.names()) == 6
        await backend.go_back(snapshot)
        await asyncio.gather(*(server.widgets.get("a/kept", CODEC) for server in (first, second)))
        await until(lambda: not first.history.problem and isinstance(first.backend.inner, OffsetBackend))
        await until(lambda: not second.history.problem and isinstance(second.backend.inner, OffsetBackend))
        async with serving(backend) as third:
            revisions = {(await server.widgets.get("a/kept", CODEC)).revision for server in (first, second, third)}
            names = [await server.names() for server in (first, second, third)]

    assert len(revisions) == 1
    assert names == [["a/kept"]] * 3


async def test_follows_another_server(backend: MemoryBackend) -> None:
    """Take the offset that another server has begun, although nothing shows that the data was replaced."""
    async with serving(backend) as server:
        created = await server.widgets.create("a/x", widget("a/x"), CODEC)
        await server.names()
        await with_offset(backend, "/registry", begin=True)
        await until(lambda: isinstance(server.backend.inner, OffsetBackend) and not server.history.problem)

        assert (await server.widgets.get("a/x", CODEC)).revision == created.revision + REVISION_BASE
        assert await server.names() == ["a/x"]


async def test_repeats_until_the_store_can_be_read(backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stay unready, and refuse calls, while the replaced data cannot be read; go on afterwards."""
    monkeypatch.setattr(paused_backend, "PATIENCE_SECONDS", 0.01)
    async with serving(backend) as server:
        await server.widgets.create("a/x", widget("a/x"), CODEC)
        await server.names()
        await backend.change(broken=True)
        server.history.report("the data is another")
        with pytest.raises(UnavailableError, match="the data is another: the objects are being read again"):
            await server.widgets.get("a/x", CODEC)
        assert server.history.problem == "the data is another"
        await backend.change(broken=False)
        await until(lambda: not server.history.problem)

        assert await server.names() == ["a/x"]


async def test_goes_back_again(backend: MemoryBackend) -> None:
    """Follow data that goes back several times."""
    async with serving(backend) as server:
        await server.widgets.create("a/x", widget("a/x"), CODEC)
        snapshot, seen = await backend.revision(), 0
        for number in range(3):
            await server.widgets.create(f"a/{number}a", widget(f"a/{number}a"), CODEC)
            created = await server.widgets.create(f"a/{number}b", widget(f"a/{number}b"), CODEC)
            assert created.revision > seen
            seen = created.revision
            assert len(await server.names()) == 3
            await backend.go_back(snapshot)
            await server.widgets.get("a/x", CODEC)
            assert await server.names() == ["a/x"]
            await until(lambda: not server.history.problem)


async def test_an_old_answer_is_no_alarm(backend: MemoryBackend) -> None:
    """Accept an answer that is older than another one that came while it was under way."""
    measured = MeasuredBackend(backend, "/registry")
    reasons: list[str] = []
    measured.on_lost = reasons.append
    late = MemoryBackend()
    measured.inner = late
    late.gate.clear()
    asking = asyncio.create_task(measured.revision())
    await until(lambda: late.calls.get("revision") == 1)
    measured.inner = backend
    for number in range(99):
        await backend.create(f"/registry/{number}", b"")
    await measured.revision()
    measured.inner = late
    late.gate.set()

    assert await asking == 1
    assert reasons == []
    assert await measured.revision() == 1
    assert reasons == ["the store's revision went back from 100 to 1"]
