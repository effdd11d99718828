"""What a watch keeps between events, and how it writes them."""

import asyncio
import gzip
import weakref
from collections.abc import AsyncIterator
from unittest import mock

import pytest
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.handlers import watch, websocket
from apiext.api.endpoints.responsewriters.event_encoder import EventEncoder, SharedEncoder
from apiext.storage.interface import Event, EventType
from tests.support.event_loop import advance, settle, until

LINES = [b"%d" % number * 30_000 for number in range(10, 20)]


class KeptEvent(Event):
    """An event that a test can refer to weakly."""


class Batch(list[Event]):
    """Events that a test can refer to weakly."""


class IdleWatch:
    """Implements Watch: sends one batch, then nothing."""

    def __init__(self, batch: Batch) -> None:
        self._batch: Batch | None = batch
        self.is_idle = False

    def __aiter__(self) -> AsyncIterator[list[Event]]:
        return self

    async def __anext__(self) -> list[Event]:
        """Return the batch the first time."""
        batch, self._batch = self._batch, None
        if batch is not None:
            return batch
        self.is_idle = True
        await asyncio.Event().wait()
        raise StopAsyncIteration

    def close(self) -> None:
        """Implement Watch.close."""

    def fail(self, error: object) -> None:
        """Implement Watch.fail."""


class Socket:
    """Stands for a WebSocket whose client sends nothing."""

    def __init__(self, **_: object) -> None:
        self.headers: dict[str, str] = {}

    async def prepare(self, _: object) -> None:
        """Do nothing."""

    async def send_frame(self, *_: object) -> None:
        """Do nothing."""

    def __aiter__(self) -> AsyncIterator[object]:
        return self

    async def __anext__(self) -> object:
        """Wait."""
        return await asyncio.Event().wait()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("make_encoder", [EventEncoder, SharedEncoder])
async def test_an_idle_watch_keeps_no_events(make_encoder: type[EventEncoder], compressed: bool) -> None:  # noqa: FBT001
    """Send events in small writes, and refer to none of them while the watch waits for the next ones."""
    writer, written, encoder = mock.create_autospec(AbstractStreamWriter, instance=True), [], make_encoder()
    writer.write.side_effect = lambda data: written.append(bytes(data))
    batch = Batch(Event(type=EventType.ADDED, item=None, revision=1, line=line) for line in LINES)
    sent, running = weakref.ref(batch), IdleWatch(batch)
    del batch
    request = make_mocked_request("GET", "/", writer=writer)
    serving = asyncio.create_task(watch.serve_stream(request, running, encoder, 3600, "application/json", compressed=compressed))
    await until(lambda: running.is_idle)
    # batches are shared for a second
    advance(2)
    await settle()

    assert sent() is None
    _, *chunks = written
    sent_bytes = b"".join(chunk.partition(b"\r\n")[2][:-2] for chunk in chunks)
    assert b"".join(LINES) == gzip.decompress(sent_bytes) if compressed else b"".join(LINES) in b"".join(written)
    assert max(map(len, written)) <= 48 * 1024
    serving.cancel()


async def test_an_idle_websocket_keeps_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refer to no event, not even the last one, while a watch over WebSocket waits for the next ones."""
    monkeypatch.setattr(web, "WebSocketResponse", Socket)
    batch = Batch(KeptEvent(type=EventType.ADDED, item=None, revision=1, line=line) for line in LINES)
    sent, running = [weakref.ref(event) for event in batch], IdleWatch(batch)
    del batch
    serving = asyncio.create_task(websocket.serve_frames(make_mocked_request("GET", "/"), running, lambda event: event.line, 3600))
    await until(lambda: running.is_idle)

    assert not any(event() for event in sent)
    serving.cancel()
