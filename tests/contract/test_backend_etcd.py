"""What only the backend over etcd has: servers that fail, TLS, and others who use the same etcd."""

import asyncio
import os
import time
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


@asynccontextmanager
async def connected(*servers: str, deadline: float = 10, **options: str) -> AsyncGenerator[EtcdBackend]:
    """A backend for the block."""
    backend = await EtcdBackend.connect(EtcdConfig(servers=servers, deadline=deadline, **options))  # type: ignore[arg-type]
    try:
        yield backend
    finally:
        await backend.close()


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd that may be ended and paused."""
    with Etcd(tmp_path / "etcd", durable=False) as server:
        yield server


@pytest.mark.slow  # ending in order, etcd waits some seconds for open watches
async def test_watch_outlives_a_restart(own_etcd: Etcd, prefix: str) -> None:
    """A watch goes on after etcd was ended and started again, and tells what others wrote before it was back."""
    async with connected(own_etcd.url) as backend, watching(backend, prefix) as batches:
        await first(batches)
        written = [await backend.create(prefix + "a", b"")]
        assert (await first(batches)).revision == written[0].revision
        waiting = asyncio.ensure_future(collect(batches, lambda events: len(events) == 20))
        await asyncio.to_thread(own_etcd.restart)
        async with connected(own_etcd.url) as other:
            written = [await other.create(f"{prefix}{n}", b"") for n in range(20)]
        assert [event.revision for event in await waiting] == [result.revision for result in written]


async def test_watch_outlives_kill(own_etcd: Etcd, prefix: str) -> None:
    """Likewise after kill -9; and a read made while etcd was away is answered once it is back."""
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


async def test_compaction_while_a_watch_is_away(etcd: Etcd, prefix: str) -> None:
    """A watch whose point of resumption was compacted before it was back ends with CompactedError."""
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
        await proxy.listen()
        with pytest.raises(CompactedError) as caught:
            await waiting
        assert caught.value.compact_revision == last.revision


async def test_a_paused_etcd(own_etcd: Etcd, prefix: str) -> None:
    """When etcd does not answer every call ends in UnavailableError within its deadline; afterwards it works again."""
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
        began = time.monotonic()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        took = time.monotonic() - began
        own_etcd.resume()
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * len(calls)
        assert took < 10
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


async def test_a_write_of_unknown_outcome_is_not_repeated(etcd: Etcd, prefix: str) -> None:
    """A write whose answer is lost ends in UnavailableError, and has been done once."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url, deadline=0.5) as backend, connected(etcd.url) as other:
        created = await other.create(prefix + "a", b"1")
        proxy.hold()
        with pytest.raises(UnavailableError):
            await backend.update(prefix + "a", b"2", expected=created.revision)
        found, at = await other.get(prefix + "a")
        assert found is not None
        assert (found.value, found.revision, at) == (b"2", created.revision + 1, created.revision + 1)


async def test_a_write_waits_for_a_connection(etcd: Etcd, prefix: str) -> None:
    """A write that has not been sent yet waits until there is a connection again."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url) as backend:
        await proxy.cut()
        # What is sent before it notices has an unknown outcome.
        while backend._servers.current.ready():  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0)
        writing = asyncio.ensure_future(backend.create(prefix + "b", b""))
        await asyncio.wait((writing,), timeout=0.1)
        assert not writing.done()
        await proxy.listen()
        assert (await writing).succeeded


async def test_another_server_takes_over(etcd: Etcd, prefix: str) -> None:
    """With several servers, reads, writes and watches go on with another one when the one in use is cut off."""
    async with (
        Proxy(etcd.port) as one,
        Proxy(etcd.port) as two,
        connected(one.url, two.url) as backend,
        watching(backend, prefix) as batches,
    ):
        await first(batches)
        created = await backend.create(prefix + "a", b"")
        used, other = (one, two) if backend._servers.current.url == one.url else (two, one)
        await used.cut()
        assert (await backend.get(prefix + "a"))[1] == created.revision
        updated = await backend.update(prefix + "a", b"2", expected=created.revision)
        events = await collect(batches, lambda events: len(events) == 2)
        assert [event.revision for event in events] == [created.revision, updated.revision]
        assert backend._servers.current.url == other.url


async def test_a_server_that_hangs_leaves_time_for_another(etcd: Etcd, prefix: str) -> None:
    """A read from a server that does not answer is answered by the next one within the read's deadline."""
    async with Proxy(etcd.port) as one, Proxy(etcd.port) as two, connected(one.url, two.url, deadline=2) as backend:
        await backend.create(prefix + "a", b"1")
        (one if backend._servers.current.url == one.url else two).hold()
        found, _ = await backend.get(prefix + "a")
        assert found is not None
        assert found.value == b"1"


async def test_a_dead_server_among_the_given(etcd: Etcd) -> None:
    """It is enough that one of the servers can be reached."""
    async with connected(f"http://127.0.0.1:{free_port()}", etcd.url) as backend:
        await backend.healthy()


async def test_an_unreachable_etcd() -> None:
    """Connecting to nothing fails in time with one line that tells the address and the reason."""
    config = EtcdConfig(servers=(f"http://127.0.0.1:{free_port()}",), connect_timeout=0.3)
    with pytest.raises(UnavailableError) as caught:
        await EtcdBackend.connect(config)
    message = str(caught.value)
    assert config.servers[0] in message
    assert "Connection refused" in message
    assert "\n" not in message


async def test_close_while_a_call_waits(prefix: str) -> None:
    """Closing ends calls that wait for a connection, with an error of the backend's own kind."""
    backend = EtcdBackend(EtcdConfig(servers=(f"http://127.0.0.1:{free_port()}",)))
    calls = [asyncio.ensure_future(call) for call in (backend.get(prefix), backend.create(prefix, b""))]
    await asyncio.sleep(0)
    await backend.close()
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [UnavailableError, UnavailableError]


async def test_close_while_a_call_is_under_way(etcd: Etcd, prefix: str) -> None:
    """Closing ends calls that wait for an answer, and does not look like a cancellation to their callers."""
    async with Proxy(etcd.port) as proxy, connected(proxy.url) as backend:
        proxy.hold()
        calls = [asyncio.ensure_future(call) for call in (backend.get(prefix), backend.create(prefix, b""))]
        await asyncio.wait(calls, timeout=0.05)
        await backend.close()
        async with asyncio.timeout(30):
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [UnavailableError, UnavailableError]


async def test_progress_requests_at_once(etcd: Etcd, prefix: str) -> None:
    """Many requests for progress at the same time are no trouble to the watch."""
    async with connected(etcd.url) as backend, watching(backend, prefix) as batches:
        await first(batches)
        await asyncio.gather(*(backend.request_progress() for _ in range(30)))
        created = await backend.create(prefix + "a", b"")
        events = await collect(batches, lambda events: len(events) == 1)
        assert events[0].revision == created.revision


async def test_too_large_a_value_is_no_outage(etcd: Etcd, prefix: str) -> None:
    """What etcd refuses for its size is an error, and not one that says to try again."""
    async with connected(etcd.url) as backend:
        for size in (1_700_000, 3_000_000):
            with pytest.raises(BackendError) as caught:
                await backend.create(prefix + "a", b"x" * size)
            assert not isinstance(caught.value, UnavailableError)


async def test_compaction_by_age_takes_turns(own_etcd: Etcd, prefix: str) -> None:
    """Of two servers one compacts in each interval, up to what was the latest at its interval before."""
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


async def test_tls(tmp_path: Path, prefix: str) -> None:
    """Over TLS with a client certificate; without one, or with another authority, the reason is told in one line."""
    authority = Authority(tmp_path / "ca")
    stranger = Authority(tmp_path / "stranger")
    with Etcd(tmp_path / "etcd", authority=authority, durable=False) as server:
        cafile, certfile, keyfile = str(server.ca), str(server.cert), str(server.key)
        async with connected(server.url, cafile=cafile, certfile=certfile, keyfile=keyfile) as backend:
            assert (await backend.create(prefix + "a", b"")).succeeded
        for config in (
            EtcdConfig(servers=(server.url,), cafile=cafile, connect_timeout=0.5),
            EtcdConfig(servers=(server.url,), cafile=str(stranger.cert), certfile=certfile, keyfile=keyfile, connect_timeout=0.5),
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
        (EtcdConfig(servers=("https://127.0.0.1:1",), cafile="/none/ca.pem"), "cannot read /none/ca.pem"),
        (EtcdConfig(servers=("https://127.0.0.1:1",), certfile="/none/c.pem"), "must be given together"),
    ],
)
async def test_a_bad_configuration(config: EtcdConfig, message: str) -> None:
    """What cannot be used is refused by name before anything is connected."""
    with pytest.raises(EtcdConfigError, match=message):
        await EtcdBackend.connect(config)


async def test_a_slow_watch_of_large_values(etcd: Etcd, prefix: str) -> None:
    """A watch that nobody reads for a while is held back and then tells all, and calls go on meanwhile."""
    async with connected(etcd.url) as backend:
        start = await backend.revision() + 1
        async with watching(backend, prefix, start=start) as batches:
            await backend.create(prefix + "first", b"")
            await first(batches)
            written = [await backend.create(f"{prefix}{n:02}", b"x" * 1_000_000) for n in range(12)]
            assert (await backend.list(prefix)).count == 13
            events = await collect(batches, lambda events: len(events) == 12)
    assert [(event.revision, len(event.value or b"")) for event in events] == [(result.revision, 1_000_000) for result in written]
