"""The log in its modes: what requests wait for, what is written together, what is lost, and what is counted."""

import asyncio
import json
from typing import cast

import pytest

from apiext.api.audit.backend import AuditStats, BatchOptions, DirectBackend
from apiext.api.audit.event import AuditEvent
from apiext.api.audit.levels import AuditLevel, AuditMode, AuditStage
from apiext.api.audit.log.modes import BlockingLog, buffered_log
from apiext.api.audit.log.writer import LogWriter
from tests.support.event_loop import until
from tests.unit.api.audit.events import Taken, context, events, uris
from tests.unit.api.audit.log.outputs import Output


async def test_blocking_log() -> None:
    """Let writes wait until all events before are written, and reads not."""
    output = Output()
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING)
    assert log.process(events(2)) is None
    waiting = log.process(events(1, verb="update"))
    assert waiting is not None
    assert await waiting

    assert uris(output.data) == ["/0", "/1", "/0"]
    log.process(events(1))
    await log.close()
    assert len(uris(output.data)) == 4


def _stages(lines: bytes) -> list[tuple[str, str]]:
    events = map(json.loads, lines.splitlines())
    return [(event["requestURI"], event["stage"]) for event in events]


async def test_quick_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write small events to a file at once; let the thread write while a write was slow, or has not ended."""
    output, stats = Output(), AuditStats()
    output.is_quick = True
    monkeypatch.setattr("apiext.api.audit.log.writer.SLOW_WRITE_SECONDS", 3600.0)
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING_STRICT)
    assert log.process(events(1)) is None
    assert log.process(events(1, verb="update")) is None
    assert uris(output.data) == ["/0", "/0"]
    monkeypatch.setattr("apiext.api.audit.log.writer.SLOW_WRITE_SECONDS", -1.0)
    monkeypatch.setattr("apiext.api.audit.log.writer.SLOW_SHARE", 1e-9)
    assert log.receive(context(Taken())) is None
    output.free.clear()
    waiting = log.process(events(1, verb="update"))
    assert waiting is not None
    output.free.set()
    assert await waiting
    await log.close()

    assert len(uris(output.data)) == 4


async def test_single_slow_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on to write at once after a single slow write, which is a busy machine's."""
    output = Output()
    output.is_quick = True
    monkeypatch.setattr("apiext.api.audit.log.writer.SLOW_WRITE_SECONDS", -1.0)
    monkeypatch.setattr("apiext.api.audit.log.writer.SLOW_WINDOW_SECONDS", 3600.0)
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING)
    waits = [log.process(events(1, verb="update")) for _ in range(2)]
    await log.close()

    assert (waits, uris(output.data)) == ([None, None], ["/0", "/0"])


@pytest.mark.parametrize("problem", ["", "disk full"])
async def test_writes_that_end_together(problem: str) -> None:
    """Write the events of requests that end in one turn at once; the requests go on even if that fails."""
    output, stats = Output(problem), AuditStats()
    output.is_quick = True
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING)
    requests = [context(Taken(), uri=f"/{name}", verb="create") for name in "ab"]
    for one in requests:
        assert log.receive(one) is None
    waits = [waiting for one in requests if (waiting := log.complete(one, 2_500_000_000)) is not None]
    assert output.writes == 0
    assert [await waiting for waiting in waits] == [True, True]
    assert output.writes == 1
    await log.close()

    expected = [(uri, stage) for uri in ("/a", "/b") for stage in ("RequestReceived", "ResponseComplete")]
    assert (_stages(output.data), dict(stats.errors)) == (([], {"log": 4}) if problem else (expected, {}))


async def test_quick_log_on_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a request whose arrival cannot be written, and lose the last event of a write."""
    monkeypatch.setattr("apiext.api.audit.log.writer.SLOW_WRITE_SECONDS", 3600.0)
    output, stats = Output("disk full"), AuditStats()
    output.is_quick = True
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING_STRICT)
    refused = log.receive(context(Taken()))
    assert refused is not None
    assert not await refused
    assert log.process(events(1, verb="update")) is None
    await log.close()

    assert dict(stats.errors) == {"log": 2}


async def test_arrivals() -> None:
    """Write the first event of a request with its last one, or soon if the request takes long; and each of them once."""
    output, sink = Output(), Taken()
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING)
    short, long, written, late = (
        context(sink, uri=f"/{name}", verb=verb) for name, verb in zip("abcd", ["get", "get", "update", "get"], strict=True)
    )
    for one in (short, long, written):
        assert log.receive(one) is None
    assert log.complete(short, 2_500_000_000) is None
    waiting = log.complete(written, 2_500_000_000)
    assert waiting is not None
    assert await waiting
    ended = [(uri, stage) for uri in ("/a", "/c") for stage in ("RequestReceived", "ResponseComplete")]
    await until(lambda: ("/b", "RequestReceived") in _stages(output.data))
    assert [one for one in _stages(output.data) if one[0] != "/b"] == ended
    long.write_record()
    log.process([AuditEvent(long, AuditStage.RESPONSE_COMPLETE, 2_500_000_000)])
    log.receive(late)
    await log.close()

    assert _stages(output.data)[5:] == [("/b", "ResponseComplete"), ("/d", "RequestReceived")]


async def test_arrivals_as_text() -> None:
    """Write the events of a request as lines of text, and count those that come too late."""
    output, stats = Output(), AuditStats()
    log = BlockingLog(LogWriter(output, stats, legacy=True), AuditMode.BLOCKING)
    audit = context(Taken())
    log.receive(audit)
    log.complete(audit, 2_500_000_000)
    await log.close()
    log.receive(audit)
    log.complete(audit, 2_500_000_000)

    assert [line.partition(b"stage=")[2].partition(b" ")[0] for line in output.data.splitlines()] == [
        b'"RequestReceived"',
        b'"ResponseComplete"',
    ]
    assert dict(stats.errors) == {"log": 2}


async def test_defect_of_an_event() -> None:
    """Lose the event that cannot be made, or is too long, and not that of the arrival before it."""
    output, stats = Output(), AuditStats()
    output.max_line = 1000
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING)
    for notes in ({"a": cast("str", object())}, {"a": "x" * 1000}):
        audit = context(Taken())
        log.receive(audit)
        audit.annotations = notes
        log.complete(audit, 2_500_000_000)
    await log.close()

    assert [stage for _, stage in _stages(output.data)] == ["RequestReceived"] * 2
    assert dict(stats.errors) == {"log": 2}


async def test_many_reads() -> None:
    """Write the lines of reads that are made together in their order, and lose only the one that is too long."""
    output, stats = Output(), AuditStats()
    output.max_line = 1024 * 1024
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING)
    for number in range(600):
        audit = context(Taken(), uri=f"/{number}")
        log.receive(audit)
        if number == 300:
            audit.annotations = {"a": "x" * output.max_line}
        log.complete(audit, 2_500_000_000)
    await log.close()
    expected = [(f"/{number}", stage) for number in range(600) for stage in ("RequestReceived", "ResponseComplete")]
    expected.remove(("/300", "ResponseComplete"))

    assert _stages(output.data) == expected
    assert dict(stats.errors) == {"log": 1}


async def test_later_answer() -> None:
    """Leave what a filter answers after the end of a request out of its event, whose line is made later."""
    output = Output()
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING)
    audit = context(Taken())
    log.receive(audit)
    audit.take_code(413)
    log.complete(audit, 2_500_000_000)
    audit.take_status({"status": "Failure", "message": "too late", "code": 504})
    await log.close()

    assert json.loads(output.data.splitlines()[-1])["responseStatus"] == {"metadata": {}, "code": 413}


async def test_slow_log() -> None:
    """Let reads wait while the output is far behind."""
    output = Output()
    output.free.clear()
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING)
    log.process(events(10_001))
    waiting = log.process(events(1))
    assert waiting is not None
    output.free.set()
    assert await waiting
    await log.close()

    assert len(uris(output.data)) == 10_002


@pytest.mark.parametrize("mode, taken", [(AuditMode.BLOCKING, True), (AuditMode.BLOCKING_STRICT, False)])
async def test_broken_log(mode: AuditMode, taken: bool) -> None:  # noqa: FBT001
    """Count lost events; fail requests in mode blocking-strict only, and by their first event only."""
    stats, sink = AuditStats(), Taken()
    log = BlockingLog(LogWriter(Output("disk full"), stats), mode)
    audit = context(sink, verb="create")
    audit.receive()
    audit.complete()
    answers = [wait is None or await wait for wait in (log.process([event]) for event in sink.events)]
    await log.close()

    assert answers == [taken, True]
    assert dict(stats.errors) == {"log": 2}


async def test_writes_of_a_turn() -> None:
    """Write the events of all requests that end together at once."""
    output = Output()
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING_STRICT)
    waits = [log.process(events(1, verb="update")) for _ in range(3)]
    assert all(await asyncio.gather(*(wait for wait in waits if wait is not None)))
    await log.close()

    assert (output.writes, len(uris(output.data)), len(waits)) == (1, 3, 3)


async def test_large_answer() -> None:
    """Let a read with a large answer wait, so that unwritten events keep few of them."""
    output, sink = Output(), Taken()
    log = BlockingLog(LogWriter(output, AuditStats()), AuditMode.BLOCKING)
    audit = context(sink, AuditLevel.REQUEST_RESPONSE)
    audit.response = (b'"', b"x" * 70_000, b'"')
    audit.complete()
    waiting = log.process(sink.events)
    assert waiting is not None
    assert await waiting
    await log.close()

    assert len(output.data) > 70_000


async def test_long_line() -> None:
    """Lose an event that is too long for the output, and no other one."""
    output, stats = Output(), AuditStats()
    output.max_line = 1000
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING)
    log.process(events(2))
    log.process(events(1, AuditLevel.REQUEST, body=b'"%b"' % (b"x" * 1000)))
    log.process(events(1))
    await log.close()

    assert uris(output.data) == ["/0", "/1", "/0"]
    assert dict(stats.errors) == {"log": 1}


async def test_long_arrival() -> None:
    """Lose the arrival of a long request that runs if it is too long for the output, and no other event."""
    output, stats = Output(), AuditStats()
    output.max_line = 1000
    log = BlockingLog(LogWriter(output, stats), AuditMode.BLOCKING)
    for uri in ("/a", f"/{'x' * 1000}", "/b"):
        log.receive(context(Taken(), uri=uri))
    await log.close()

    assert uris(output.data) == ["/a", "/b"]
    assert dict(stats.errors) == {"log": 1}


async def test_long_line_of_a_batch() -> None:
    """Write the other events of a batch at once, not with those of the next one."""
    output, stats = Output(), AuditStats()
    output.max_line = 1000
    writer = LogWriter(output, stats)
    batch = [*events(2), *events(1, AuditLevel.REQUEST, body=b'"%b"' % (b"x" * 1000))]
    assert not await writer.put_and_wait(batch, urgent=False)
    await until(lambda: output.data)
    await writer.close()

    assert uris(output.data) == ["/0", "/1"]
    assert dict(stats.errors) == {"log": 1}


async def test_end_of_the_log() -> None:
    """End the thread while it collects events, and count those that come later."""
    output, stats = Output(), AuditStats()
    for count in range(1, 4):
        writer = LogWriter(output, stats)
        writer.put(events(1))
        # the thread waits for further events now
        await asyncio.to_thread(events, 1)
        await writer.close()
        late = writer.put_and_wait(events(1), strict=False)
        writer.put(events(1))
        assert await late
        assert len(uris(output.data)) == count

    assert dict(stats.errors) == {"log": 6}


async def test_buffered_log() -> None:
    """Lose what the buffer cannot take, count it, and write the rest at the end."""
    output, stats = Output(), AuditStats()
    log = buffered_log(LogWriter(output, stats), BatchOptions(buffer_size=3, max_size=1, throttled=False), stats)
    assert log.process(events(5)) is None
    await log.close()
    log.process(events(1))

    assert uris(output.data) == ["/0", "/1", "/2"]
    assert dict(stats.errors) == {"buffered": 3}


async def test_buffered_arrivals() -> None:
    """Write the last event of a request whose first one is lost."""
    output, stats = Output(), AuditStats()
    writer = LogWriter(output, stats, most=2)
    log = buffered_log(writer, BatchOptions(buffer_size=2, max_size=1, throttled=False), stats)
    assert isinstance(log, DirectBackend)
    requests = [context(Taken(), uri=f"/{number}") for number in range(3)]
    output.free.clear()
    for one in requests:
        log.receive(one)
    output.free.set()
    await until(lambda: not writer.unwritten)
    log.complete(requests[2], 2_500_000_000)
    await log.close()
    log.complete(requests[0], 2_500_000_000)

    assert _stages(output.data) == [("/0", "RequestReceived"), ("/1", "RequestReceived"), ("/2", "ResponseComplete")]
    assert dict(stats.errors) == {"buffered": 2}


async def test_arrivals_in_a_small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the first events of requests at once if they fill half of the buffer."""
    monkeypatch.setattr("apiext.api.audit.log.writer.LINGER_SECONDS", 3600.0)
    output, stats = Output(), AuditStats()
    writer = LogWriter(output, stats, most=4)
    log = buffered_log(writer, BatchOptions(buffer_size=4, max_size=1, throttled=False), stats)
    assert isinstance(log, DirectBackend)
    for number in range(3):
        log.receive(context(Taken(), uri=f"/{number}"))
    await until(lambda: not writer.unwritten)
    await log.close()

    assert uris(output.data) == ["/0", "/1", "/2"]
    assert not stats.errors


async def test_throttled_log() -> None:
    """Write the events of a throttled log in batches."""
    output, stats = Output(), AuditStats()
    log = buffered_log(LogWriter(output, stats), BatchOptions(max_size=2, throttled=True, qps=1000, burst=1), stats)
    log.process(events(3))
    await log.close()

    assert uris(output.data) == ["/0", "/1", "/2"]


async def test_part_of_a_batch() -> None:
    """Count the events of which the output took no part or only a part."""
    stats, (first, second, third) = AuditStats(), events(3)
    output = Output()
    output.taken = len(first.line()) + len(second.line()) // 2
    writer = LogWriter(output, stats)
    assert not await writer.put_and_wait((first, second, third))
    await writer.close()

    assert dict(stats.errors) == {"log": 2}
