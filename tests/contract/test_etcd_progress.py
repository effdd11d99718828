"""Consistent reads over versions of etcd whose answers to progress requests cannot be trusted."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.storage.backend import ProgressUnreliableError
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions
from hack.lib.servers.etcd import Etcd
from tests.contract.proxy import Proxy
from tests.support.builders.widgets import WIDGETS, WidgetCodec, watching, widget
from tests.support.captured_logs import logged
from tests.support.event_loop import until, until_answered


def _older(etcd: Etcd) -> tuple[bytes, bytes]:
    """Return the version of the real etcd, and an old one of the same length."""
    real = etcd.status()["version"]
    return real.encode(), "3.5.0".ljust(len(real), "0").encode()


@asynccontextmanager
async def _stores(prefix: str, *urls: str) -> AsyncGenerator[tuple[EtcdBackend, StoreFactory]]:
    backend = await EtcdBackend.connect(EtcdConfig(servers=urls))
    factory = StoreFactory(backend, prefix=prefix, compaction_interval=0)
    try:
        await factory.start()
        yield backend, factory
    finally:
        await factory.close()
        await backend.close()


async def test_consistent_reads_ask_an_old_etcd(etcd: Etcd, prefix: str, caplog: pytest.LogCaptureFixture) -> None:
    """Answer consistent reads with the latest state though no event tells that the cache has reached it; log the version once."""
    codec = WidgetCodec()
    async with Proxy(etcd.port) as proxy:
        proxy.replaced = _older(etcd)
        async with _stores(prefix, proxy.url) as (backend, factory), _stores(prefix, etcd.url) as (other, writers):
            store, writer = factory.store(WIDGETS), writers.store(WIDGETS)
            await until(lambda: logged(caplog))
            await store.list("", codec, ListOptions())
            created = await writer.create("a/x", widget("a/x"), codec)
            outside = await other.create(f"{prefix[:-1]}-elsewhere/x", b"")
            listed = await store.list("", codec, ListOptions(limit=1))
            assert ([item.key for item in listed.items], listed.revision) == (["a/x"], outside.revision)
            assert (await store.get("a/x", codec)).revision == created.revision
            assert (await store.get("a/x", codec, resource_version=str(outside.revision))).revision == created.revision
            minimal = await store.list("", codec, ListOptions(resource_version=str(outside.revision)))
            assert minimal.revision == outside.revision
            with pytest.raises(errors.StatusError, match="Too large resource version"):
                await store.get("a/x", codec, resource_version=str(outside.revision + 100))
            with pytest.raises(ProgressUnreliableError):
                await backend.request_progress()
            async with watching(store, codec, send_initial_events=True, allow_bookmarks=True) as reader:
                event = await reader.next()
            assert event.type is EventType.ERROR
            status = json_codec.loads(event.line)["object"]
            assert (status["code"], status["reason"]) == (500, "InternalError")
            assert "RequestWatchProgress is disabled" in status["message"]
    lines = [line for line in logged(caplog) if "version" in line]
    assert [line["version"] for line in lines] == [_older(etcd)[1].decode()]


async def test_pages_ask_an_old_etcd(etcd: Etcd, prefix: str) -> None:
    """Continue a list at a revision that the cache does not know."""
    codec = WidgetCodec()
    async with Proxy(etcd.port) as proxy:
        proxy.replaced = _older(etcd)
        async with _stores(prefix, proxy.url) as (backend, factory):
            store = factory.store(WIDGETS)
            for name in "xyz":
                await store.create(f"a/{name}", widget(f"a/{name}"), codec)
            await store.list("", codec, ListOptions())
            await backend.create(f"{prefix[:-1]}-elsewhere/y", b"")
            page = await store.list("", codec, ListOptions(limit=2))
            rest = await store.list("", codec, ListOptions(limit=2, continue_token=page.continue_token))
    assert [item.key for item in (*page.items, *rest.items)] == ["a/x", "a/y", "a/z"]
    assert rest.revision == page.revision


async def test_follows_the_version_of_each_connection(etcd: Etcd, prefix: str) -> None:
    """Request progress while every server is new enough, and again after an old one was upgraded."""
    async with Proxy(etcd.port) as one, Proxy(etcd.port) as two:
        two.replaced = _older(etcd)
        async with _stores(prefix, one.url, two.url) as (backend, _):

            async def requested() -> bool:
                try:
                    await backend.request_progress()
                except ProgressUnreliableError:
                    return False
                return True

            await until(lambda: len(backend.servers.connections()) == 2)
            assert not await requested()
            await two.cut()
            two.replaced = b"", b""
            two.listen()
            if backend.servers.ready():
                backend.servers.mark_failed(backend.servers.current)
                backend.servers.ready()
            await until(lambda: len(backend.servers.connections()) == 2)
            await until_answered(requested)
