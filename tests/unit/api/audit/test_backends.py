"""Backends: what requests wait for, what is lost, and what is counted. The log has its own tests."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from apiext.api.audit import backend as buffered_backend
from apiext.api.audit.backend import AuditStats, BatchOptions, BufferedBackend, TruncateOptions, TruncatingBackend, UnionBackend
from apiext.api.audit.event import AuditEvent, Client
from apiext.api.audit.levels import AuditLevel, AuditMode
from apiext.api.audit.webhook_backend import BlockingWebhook, EventWebhook
from apiext.base.webhook.client import WebhookClient, WebhookError
from tests.unit.api.audit.events import Taken, context, events


class Server:
    """A client whose server answers with the given codes, then with 200."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.bodies: list[Any] = []

    async def ask(self, path: str, *, method: str, body: bytes) -> tuple[int, bytes]:
        """Keep the list."""
        code = self.codes.pop(0) if self.codes else 200
        if not code:
            raise WebhookError("no answer")
        self.bodies.append((code, json.loads(body)["items"]))
        return code, b"why"


def _webhook(server: Server, stats: AuditStats) -> EventWebhook:
    return EventWebhook(cast("WebhookClient", server), stats, initial_backoff=0.0)


async def test_batches() -> None:
    """Send batches of the maximum size, the rest after the wait or at the end."""
    sent: list[int] = []
    partial = asyncio.Event()

    async def send(batch: Sequence[AuditEvent]) -> bool:
        sent.append(len(batch))
        if len(batch) < 4:
            partial.set()
        return True

    options = BatchOptions(max_size=4, max_wait=0.01, throttled=True, qps=1000, burst=1)
    backend = BufferedBackend(send, options, AuditStats(), concurrent=True)
    backend.process(events(10))
    await partial.wait()
    backend.process(events(3))
    await backend.close()

    assert sorted(sent) == [2, 3, 4, 4]


async def test_truncation() -> None:
    """Remove large objects, lose events that are large without them or cannot be encoded, and split batches."""
    sink, stats = Taken(), AuditStats()
    size = len(events(1)[0].line())
    backend = TruncatingBackend(sink, TruncateOptions(2 * size + 200, size + 100), stats)
    backend.process(events(3))
    large = events(1, AuditLevel.REQUEST, body=b'{"a":"%b"}' % (b"x" * 1000))
    backend.process(large)
    wide = events(1)
    wide[0].annotations = {"a": "x" * 1000}
    backend.process(wide)
    backend.process([_defect(events(1)[0]), *events(1)])
    await backend.close()

    assert [len(batch) for batch in sink.batches] == [2, 1, 1, 1]
    assert json.loads(sink.events[-2].line())["annotations"] == {"audit.k8s.io/truncated": "true"}
    assert dict(stats.errors) == {"truncate": 2}
    assert sink.closed


async def test_sizes() -> None:
    """Measure events without copies of their objects."""
    for event in (*events(1), *events(1, AuditLevel.REQUEST, body=b'{"a": 1}')):
        assert event.size == len(event.line())


async def test_union() -> None:
    """Give events to all backends, and fail if one of them fails."""
    loop = asyncio.get_running_loop()
    refused, taken = loop.create_future(), loop.create_future()
    refused.set_result(False)
    taken.set_result(True)
    backends = [Taken(), Taken(taken), Taken(refused)]
    union = UnionBackend(backends)
    waiting = union.process(events(1))
    await union.close()

    assert waiting is not None
    assert not await waiting
    assert UnionBackend(backends[:1]).process(events(1)) is None
    assert [(len(each.events), each.closed) for each in backends] == [(2, True), (1, True), (1, True)]


async def test_webhook_retries() -> None:
    """Send events again after any failure, and count them as lost after five attempts."""
    stats = AuditStats()
    patient, server = Server(0, 400), Server(*[500] * 6)

    assert await _webhook(patient, stats).send(events(2))
    assert [code for code, _ in patient.bodies] == [400, 200]
    assert not await _webhook(server, stats).send(events(101))
    assert [len(items) for _, items in server.bodies] == [101] * 5
    assert dict(stats.errors) == {"webhook": 101}


async def test_webhook_defects() -> None:
    """Count events that a defect loses."""
    stats = AuditStats()

    assert not await _webhook(Server(), stats).send([_defect(events(1)[0])])
    assert dict(stats.errors) == {"webhook": 1}


def _broken(number: int = 1) -> AuditEvent:
    (event,) = events(1)
    event.context.uri, event.context.client = f"/broken/{number}", Client(members=",")
    return event


@pytest.mark.parametrize("broken", [_broken, lambda: _defect(events(1)[0])], ids=["not JSON", "not encoded"])
async def test_unreadable_events(broken: Callable[[], AuditEvent]) -> None:
    """Send no list that is not JSON: each event is sent by itself then, and those that are not JSON are counted."""
    stats, server = AuditStats(), Server()
    first, last = events(2)

    assert not await _webhook(server, stats).send([first, broken(), last])
    assert [[event["requestURI"] for event in items] for _, items in server.bodies] == [["/0"], ["/1"]]
    assert dict(stats.errors) == {"webhook": 1}


def _defect(event: AuditEvent) -> AuditEvent:
    event.status = {"message": object()}
    return event


async def test_unreadable_events_alone() -> None:
    """Count events without a request, and those that the server does not take afterwards."""
    stats, server = AuditStats(), Server(*[500] * 5)

    assert not await _webhook(server, stats).send([_broken(1), _broken(2)])
    assert not server.bodies
    assert not await _webhook(server, stats).send([_broken(), *events(3)])
    assert [len(items) for _, items in server.bodies] == [1] * 5
    assert dict(stats.errors) == {"webhook": 6}


@pytest.mark.parametrize("body", [b'{"a":', b'{"a":%b%b}' % (b"[" * 2000, b"]" * 2000)], ids=["not JSON", "deep"])
async def test_unreadable_objects(body: bytes) -> None:
    """Leave out objects that make an event unreadable."""
    stats, server = AuditStats(), Server()
    (event,) = events(1, AuditLevel.REQUEST, body=body)

    assert await _webhook(server, stats).send([*events(1), event])
    assert [[item.get("annotations") for item in items] for _, items in server.bodies] == [[None], [{"audit.k8s.io/truncated": "true"}]]
    assert not stats.errors


async def test_large_objects() -> None:
    """Check what surrounds a large object."""
    large = b'{"a":"%b"}' % (b"x" * 2_000_000)
    (event,) = events(1, AuditLevel.REQUEST, body=large)
    event.check()
    event.context.client = Client(members=",")
    event = event.truncated()
    event.request_object = large

    with pytest.raises(ValueError, match="line 1"):
        event.check()


async def test_slow_webhook() -> None:
    """Bound the batches that are sent at the same time; others wait in the buffer, and are lost when it is full."""
    stats, answer = AuditStats(), asyncio.Event()
    most = buffered_backend.MOST_SENDING
    sent: list[int] = []
    full = asyncio.Event()

    async def send(batch: Sequence[AuditEvent]) -> bool:
        sent.append(len(batch))
        if len(sent) == most:
            full.set()
        return await answer.wait()

    options = BatchOptions(buffer_size=most + 2, max_size=1, throttled=False)
    backend = BufferedBackend(send, options, stats, concurrent=True)
    backend.process(events(most + 2))
    await full.wait()
    await asyncio.sleep(0)
    assert len(sent) == most
    backend.process(events(most + 3))
    answer.set()
    await backend.close()

    # one event had left the buffer, and waited for its turn
    assert len(sent) == 2 * most + 3
    assert dict(stats.errors) == {"buffered": 2}


@pytest.mark.parametrize("mode, taken", [(AuditMode.BLOCKING, True), (AuditMode.BLOCKING_STRICT, False)])
async def test_blocking_webhook(mode: AuditMode, taken: bool) -> None:  # noqa: FBT001
    """Let requests wait for the webhook, and fail in mode blocking-strict."""
    sink = Taken()
    context(sink).receive()
    backend = BlockingWebhook(_webhook(Server(*[500] * 5), AuditStats()), mode)
    waiting = backend.process(sink.events)
    assert waiting is not None

    assert await waiting is taken
    late = backend.process(events(1))
    assert late is not None
    await backend.close()
    assert await late
