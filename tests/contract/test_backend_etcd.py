"""Tests of the etcd backend alone: failing servers, TLS, and other clients of the same etcd."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from apiext.storage.backend import BackendError, CompactedError, UnavailableError
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.process import free_port
from tests.contract.proxy import Proxy
from tests.contract.watching import collect, first, watching
from tests.support.event_loop import until


@asynccontextmanager
async def connected(*servers: str, deadline: float = 10, **options: Path | None) -> AsyncGenerator[EtcdBackend]:
    """Connect a backend for the block."""
    backend = await EtcdBackend.connect(EtcdConfig(servers=servers, deadline=deadline, **options))  # type: ignore[arg-type]
    try:
        yield backend
    finally:
        await backend.close()


def _port(backend: EtcdBackend) -> int:
    """Return the port of the current server."""
    return int(backend.servers.current.authority.rpartition(":")[2])


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    """Yield an etcd that the test may stop and pause."""
    with Etcd(tmp_path / "etcd", durable=False) as server:
        yield server


@pytest.mark.slow  # at shutdown etcd waits some seconds for open watches
async def test_resumes_a_watch_after_a_restart(own_etcd: Etcd, prefix: str) -> None:
    """Resume a watch after etcd restarted, with the events that another client wrote in between."""
    async with connected(own_etcd.url) as backend, watching(backend, prefix) as batches:
        await first(batches)
        written = [await backend.create(prefix + "a", b"")]
        assert (await first(batches)).revision == written[0].revision
        waiting = asyncio.ensure_future(collect(batches, lambda events: len(events) == 20))
        await asyncio.to_thread(own_etcd.restart)
        async with connected(own_etcd.url) as other:
            written = [await other.create(f"{prefix}{n}", b"") for n in range(20)]
        assert [event.revision for event in await waiting] == [result.revision for result in written]


async def test_resumes_a_watch_after_kill(own_etcd: Etcd, prefix: str) -> None:
    """Resume a watch after kill -9, and answer a read that was made while etcd was down."""
    async with connected(own_etcd.url) as backend, watching(backend, prefix) as batches:
        await first(batches)
        await backend.create(prefix + "a", b"1")
        await asyncio.to_thread(own_etcd.kill)
        reading = asyncio.ensure_future(backend.get(prefix + "a"))
        writing = asyncio.ensure_future(backend.create(prefix + "b", b"2"))
        await asyncio.to_thread(own_etcd.start)
        found, _ = await reading
        assert found is not None
        assert found.value == b"1"
        (outcome,) = await asyncio.gather(writing, return_exceptions=True)
        assert isinstance(outcome, UnavailableError) or (not isinstance(outcome, BaseException) and outcome.succeeded)
        last = await backend.create(prefix + "c", b"3")
        events = await collect(batches, lambda events: any(event.revision == last.revision for event in events))
        assert [event.key[-1] for event in events] in (["a", "c"], ["a", "b", "c"])


async def test_ends_a_watch_whose_revision_was_compacted(etcd: Etcd, prefix: str) -> None:
    """End a watch with CompactedError when its revision was compacted while it was disconnected."""
    async with (
        Proxy(etcd.port) as proxy,
        connected(proxy.url) as backend,
        connected(etcd.url) as other,
        watching(backend, prefix) as batches,
    ):
        await first(batches)
        waiting = asyncio.ensure_future(first(batches))
        await asyncio.sleep(0)
        await proxy.cut()
        await other.create(prefix + "a", b"")
        last = await other.create(prefix + "b", b"")
        await other.compact(last.revision)
        proxy.listen()
        with pytest.raises(CompactedError) as caught:
            await waiting
        assert caught.value.compact_revision == last.revision


async def test_fails_calls_at_their_deadline(own_etcd: Etcd, prefix: str) -> None:
    """Raise UnavailableError from every call within its deadline while etcd is paused, and succeed again afterwards."""
    async with connected(own_etcd.url, deadline=0.5) as backend, watching(backend, prefix) as batches:
        await first(batches)
        created = await backend.create(prefix + "a", b"")
        own_etcd.pause()
        await asyncio.to_thread(os.waitpid, own_etcd.process.pid, os.WUNTRACED)
        calls = (
            backend.get(prefix + "a"),
            backend.list(prefix),
            backend.count(prefix),
            backend.create(prefix + "b", b""),
            backend.update(prefix + "a", b"", expected=created.revision),
            backend.delete(prefix + "a", expected=created.revision),
            backend.revision(),
            backend.compact(created.revision),
            backend.healthy(),
        )
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        own_etcd.resume()
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * len(calls)
        async with asyncio.timeout(30):
            while True:
                try:
                    last = await backend.create(prefix + "z", b"")
                    break
                except UnavailableError:
                    continue
        events = await collect(batches, lambda events: any(event.revision == last.revision for event in events))
        revisions = [event.revision for event in events]
        assert revisions == sorted(set(revisions))


async def test_does_not_repeat_a_write_of_unknown_outcome(etcd: Etcd, prefix: str) -> None:
    """Raise UnavailableError when the answer to a write is lost, and do the write once."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url, deadline=0.5) as backend, connected(etcd.url) as other:
        created = await other.create(prefix + "a", b"1")
        proxy.hold()
        with pytest.raises(UnavailableError):
            await backend.update(prefix + "a", b"2", expected=created.revision)
        found, at = await other.get(prefix + "a")
        assert found is not None
        assert (found.value, found.revision, at) == (b"2", created.revision + 1, created.revision + 1)


@pytest.mark.parametrize("operation", ["create", "update", "delete"])
async def test_does_not_repeat_a_write_after_a_lost_connection(etcd: Etcd, prefix: str, operation: str) -> None:
    """Raise UnavailableError when the connection ends after a write was sent, and do the write once."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url) as backend, connected(etcd.url) as other:
        before = await other.create(prefix + "a", b"1")
        proxy.hold()
        if operation == "create":
            writing = asyncio.ensure_future(backend.create(prefix + "b", b"2"))
        elif operation == "update":
            writing = asyncio.ensure_future(backend.update(prefix + "a", b"2", expected=before.revision))
        else:
            writing = asyncio.ensure_future(backend.delete(prefix + "a", expected=before.revision))
        async with watching(other, prefix, start=before.revision + 1) as batches:
            await collect(batches, lambda events: len(events) == 1)
        await proxy.cut()
        proxy.listen()
        with pytest.raises(UnavailableError):
            await writing
        assert await other.revision() == before.revision + 1


async def test_writes_wait_for_a_connection(etcd: Etcd, prefix: str) -> None:
    """Keep a write that was not sent until the connection is back."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url) as backend:
        await proxy.cut()
        # A write that is sent before the client notices has an unknown outcome.
        await until(lambda: not backend.servers.ready())
        writing = asyncio.ensure_future(backend.create(prefix + "b", b""))
        await asyncio.wait((writing,), timeout=0.1)
        assert not writing.done()
        proxy.listen()
        assert (await writing).succeeded


async def test_fails_over_to_another_server(etcd: Etcd, prefix: str) -> None:
    """Continue reads, writes and watches on another server when the current one is cut off."""
    async with (
        Proxy(etcd.port) as one,
        Proxy(etcd.port) as two,
        connected(one.url, two.url) as backend,
        watching(backend, prefix) as batches,
    ):
        await first(batches)
        created = await backend.create(prefix + "a", b"")
        used, other = (one, two) if _port(backend) == one.port else (two, one)
        await used.cut()
        assert (await backend.get(prefix + "a"))[1] == created.revision
        updated = await backend.update(prefix + "a", b"2", expected=created.revision)
        events = await collect(batches, lambda events: len(events) == 2)
        assert [event.revision for event in events] == [created.revision, updated.revision]
        assert _port(backend) == other.port


async def test_leaves_time_for_another_server(etcd: Etcd, prefix: str) -> None:
    """Answer a read within its deadline from the next server when the first one does not answer."""
    async with Proxy(etcd.port) as one, Proxy(etcd.port) as two, connected(one.url, two.url, deadline=2) as backend:
        await backend.create(prefix + "a", b"1")
        (one if _port(backend) == one.port else two).hold()
        found, _ = await backend.get(prefix + "a")
        assert found is not None
        assert found.value == b"1"


async def test_needs_one_reachable_server(etcd: Etcd, prefix: str) -> None:
    """Connect when only one of the given servers can be reached, and use that one."""
    async with connected(f"http://127.0.0.1:{free_port()}", etcd.url) as backend:
        await backend.create(prefix + "a", b"1")
        found, _ = await backend.get(prefix + "a")

        assert found is not None
        assert (_port(backend), found.value) == (etcd.port, b"1")


async def test_names_the_server_that_cannot_be_reached() -> None:
    """Fail to connect in time, with one line that contains the address and the reason."""
    config = EtcdConfig(servers=(f"http://127.0.0.1:{free_port()}",), connect_timeout=0.3)
    with pytest.raises(UnavailableError) as caught:
        await EtcdBackend.connect(config)
    message = str(caught.value)
    assert config.servers[0] in message
    assert "Connection refused" in message
    assert "\n" not in message


async def test_close_fails_calls_that_wait_for_a_connection(prefix: str) -> None:
    """Raise UnavailableError from calls that wait for a connection when the backend is closed."""
    backend = EtcdBackend(EtcdConfig(servers=(f"http://127.0.0.1:{free_port()}",)))
    calls = [asyncio.ensure_future(call) for call in (backend.get(prefix), backend.create(prefix, b""))]
    await asyncio.sleep(0)
    await backend.close()
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [UnavailableError, UnavailableError]


async def test_close_fails_calls_that_wait_for_an_answer(etcd: Etcd, prefix: str) -> None:
    """Raise UnavailableError, not CancelledError, from calls that wait for an answer when the backend is closed."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url) as backend:
        proxy.hold()
        calls = [asyncio.ensure_future(call) for call in (backend.get(prefix), backend.create(prefix, b""))]
        await asyncio.wait(calls, timeout=0.05)
        await backend.close()
        async with asyncio.timeout(30):
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [UnavailableError, UnavailableError]


async def test_accepts_many_progress_requests(etcd: Etcd, prefix: str) -> None:
    """Keep a watch working after many simultaneous progress requests."""
    async with connected(etcd.url) as backend, watching(backend, prefix) as batches:
        await first(batches)
        await asyncio.gather(*(backend.request_progress() for _ in range(30)))
        created = await backend.create(prefix + "a", b"")
        events = await collect(batches, lambda events: len(events) == 1)
        assert events[0].revision == created.revision


async def test_rejects_a_value_that_is_too_large(etcd: Etcd, prefix: str) -> None:
    """Raise an error that is not UnavailableError for a value that etcd refuses for its size."""
    async with connected(etcd.url) as backend:
        for size in (1_700_000, 3_000_000):
            with pytest.raises(BackendError) as caught:
                await backend.create(prefix + "a", b"x" * size)
            assert not isinstance(caught.value, UnavailableError)


async def test_compacts_from_one_server_only(own_etcd: Etcd, prefix: str) -> None:
    """Compact from one of two servers in each interval, up to the latest revision of its previous interval."""
    async with connected(own_etcd.url) as one, connected(own_etcd.url) as two:
        created = await one.create(prefix + "a", b"1")
        await one.compact_aged()
        await two.compact_aged()
        updated = await one.update(prefix + "a", b"2", expected=created.revision)
        assert (await one.list(prefix, revision=created.revision)).items[0].value == b"1"
        await one.compact_aged()
        await two.compact_aged()
        with pytest.raises(CompactedError):
            await one.list(prefix, revision=created.revision - 1)
        assert (await one.list(prefix, revision=updated.revision)).items[0].value == b"2"


async def test_connects_over_tls(tmp_path: Path, prefix: str) -> None:
    """Connect over TLS with a client certificate; without one, or with another authority, fail with the reason in one line."""
    authority = Authority(tmp_path / "ca")
    stranger = Authority(tmp_path / "stranger")
    with Etcd(tmp_path / "etcd", authority=authority, durable=False) as server:
        cafile, certfile, keyfile = server.ca, server.cert, server.key
        async with connected(server.url, cafile=cafile, certfile=certfile, keyfile=keyfile) as backend:
            assert (await backend.create(prefix + "a", b"")).succeeded
        for config in (
            EtcdConfig(servers=(server.url,), cafile=cafile, connect_timeout=0.5),
            EtcdConfig(servers=(server.url,), cafile=stranger.cert, certfile=certfile, keyfile=keyfile, connect_timeout=0.5),
        ):
            with pytest.raises(UnavailableError, match="etcd cannot be reached at https://") as caught:
                await EtcdBackend.connect(config)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "config, message",
    [
        (EtcdConfig(servers=()), "no etcd server is given"),
        (EtcdConfig(servers=("ftp://127.0.0.1:1",)), "must be http://host:port or https://host:port"),
        (EtcdConfig(servers=("http://127.0.0.1",)), "must be http://host:port or https://host:port"),
        (EtcdConfig(servers=("http://127.0.0.1:99999",)), "must be http://host:port or https://host:port"),
        (EtcdConfig(servers=("https://127.0.0.1:1",), cafile=Path("/none/ca.pem")), "cannot read /none/ca.pem"),
        (EtcdConfig(servers=("https://127.0.0.1:1",), certfile=Path("/none/c.pem")), "must be given together"),
    ],
)
async def test_rejects_a_bad_configuration(config: EtcdConfig, message: str) -> None:
    """Raise EtcdConfigError with the invalid value before connecting."""
    with pytest.raises(EtcdConfigError, match=message):
        await EtcdBackend.connect(config)


async def test_blocks_the_server_of_a_slow_watch(etcd: Etcd, prefix: str) -> None:
    """Deliver all events to a watch that was not read for a while, and answer calls meanwhile."""
    async with connected(etcd.url) as backend:
        start = await backend.revision() + 1
        async with watching(backend, prefix, start=start) as batches:
            await backend.create(prefix + "first", b"")
            await first(batches)
            written = [await backend.create(f"{prefix}{n:02}", b"x" * 1_000_000) for n in range(12)]
            assert (await backend.list(prefix)).count == 13
            events = await collect(batches, lambda events: len(events) == 12)
    assert [(event.revision, len(event.value or b"")) for event in events] == [(result.revision, 1_000_000) for result in written]
