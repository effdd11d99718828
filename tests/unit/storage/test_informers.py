"""The state that a client builds from a watch equals a list, whatever fails."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_codec
from apiext.storage.backend import CompactedError
from apiext.storage.cacher import feed
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.errors import KeyExistsError, KeyNotFoundError
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EVERYTHING, EventType, ListOptions, Selection, Store, WatchOptions
from tests.support.builders.widgets import WIDGETS, Informer, WidgetCodec, change, labelled, relabel, where, widget
from tests.support.event_loop import advance, settle
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store

KEYS = ["a/1", "a/2", "b/1", "b/2"]
SCOPES: list[tuple[str, Selection]] = [
    ("", EVERYTHING),
    ("a/", EVERYTHING),
    ("a/1", EVERYTHING),
    ("", labelled("app=web")),
    ("b/", labelled("app!=web")),
    ("", where("spec.color=red")),
    ("a/", where("metadata.name=1")),
]

steps = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(KEYS)),
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("paint"), st.sampled_from(KEYS), st.sampled_from(["red", "blue"])),
    st.tuples(st.just("label"), st.sampled_from(KEYS), st.sampled_from(["web", "db"])),
    st.tuples(st.just("follow"), st.integers(0, len(SCOPES) - 1), st.booleans()),
    st.tuples(st.just("rest")),
    st.tuples(st.just("break")),
    st.tuples(st.just("lose")),
)


class Client:
    """An informer of a scope, by initial events or by a list and a watch."""

    def __init__(self, scope: tuple[str, Selection]) -> None:
        self.prefix, self.selection = scope
        self.informer = Informer()
        self.task: asyncio.Task[None] | None = None

    async def start(self, store: Store, codec: WidgetCodec, *, by_list: bool) -> None:
        """Start to follow."""
        options = WatchOptions(selection=self.selection, send_initial_events=True, allow_bookmarks=True)
        if by_list and not self.prefix.endswith("1"):
            listed = await store.list(self.prefix, codec, ListOptions(selection=self.selection))
            self.informer.objects = {item.key: item.object() for item in listed.items}
            options = WatchOptions(selection=self.selection, resource_version=str(listed.revision))
        watch = await store.watch(self.prefix, codec, options)

        async def follow() -> None:
            async for batch in watch:
                for event in batch:
                    assert event.type is not EventType.ERROR, event.line
                    self.informer.take(event)

        self.task = asyncio.ensure_future(follow())

    async def state(self, store: Store, codec: WidgetCodec) -> dict[str, json_codec.Object]:
        """Return the state of a list."""
        prefix = "" if self.prefix.endswith("1") else self.prefix
        listed = await store.list(prefix, codec, ListOptions(selection=self.selection))
        return {item.key: item.object() for item in listed.items if item.key.startswith(self.prefix)}


async def play(script: list[tuple[Any, ...]], *, watch_cache: bool) -> None:
    """Run a script, and compare the states in the end."""
    backend, codec = MemoryBackend(), WidgetCodec()
    factory = StoreFactory(backend, watch_cache=watch_cache, compaction_interval=0)
    await factory.start()
    store, writer = factory.store(WIDGETS), direct_store(backend)
    clients: list[Client] = []
    for number, step in enumerate(script):
        # some writes come through the store under test, some from another server
        through = store if number % 2 else writer
        await act(step, through, codec, backend, watch_cache=watch_cache)
        if step[0] == "follow":
            clients.append(Client(SCOPES[step[1]]))
            await clients[-1].start(store, codec, by_list=step[2])
    last = await writer.create("a/last", widget("a/last"), codec)
    if isinstance(store, CachedStore):
        await factory.reach(last.revision)
        advance(1)
    await settle(50)
    for client in clients:
        assert client.task is not None
        assert not client.task.done() or client.task.result() is None
        assert client.informer.objects == await client.state(store, codec)
        client.task.cancel()
    await factory.close()
    await backend.close()


async def act(step: tuple[Any, ...], store: Store, codec: WidgetCodec, backend: MemoryBackend, *, watch_cache: bool) -> None:
    """Run one step of a script."""
    try:
        match step:
            case ("create", key):
                await store.create(key, widget(key, labels={"app": "web"}), codec)
            case ("delete", key):
                await store.delete(key, codec)
            case ("paint", key, color):
                await change(store, codec, key, color=color)
            case ("label", key, app):
                await relabel(store, codec, key, app=app)
            case ("rest",):
                await settle(10)
            case ("break" | "lose" as trouble,) if watch_cache:
                await backend.change(deaf=True)
                for key in KEYS[::2]:
                    await relabel(store, codec, key, app=trouble)
                if trouble == "lose":
                    await backend.compact(await backend.revision())
                await backend.change(broken=True)
                await settle(10)
                await backend.change(broken=False, deaf=False)
    except (KeyExistsError, KeyNotFoundError, CompactedError):
        await backend.change(deaf=False, broken=False)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Suppress the log of broken watches."""
    logger = logging.getLogger("apiext")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("watch_cache", [False, True])
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(script=st.lists(steps, max_size=25))
def test_informers_reach_the_listed_state(*, watch_cache: bool, script: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach the state of a list in informers of all scopes, over broken watches and compactions."""
    for name in ("MIN_RETRY_SECONDS", "MAX_RETRY_SECONDS", "PROGRESS_AFTER_SECONDS", "PROGRESS_INTERVAL_SECONDS"):
        monkeypatch.setattr(feed, name, 0.0001)
    asyncio.run(play(script, watch_cache=watch_cache))
