"""The map as server-sent events (text/event-stream), for one reader.

| event | data |
| --- | --- |
| `map` | `reset`: whether what was sent before is outdated; `definitions`: new and changed entries; `removed`: names |
| `state` | `{}`, after the last event of a change: the reader is up to date. Its id is the place to resume from |

Each definition comes whole. A reader that resumes with Last-Event-ID gets what has changed since.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.endpoints.responsewriters.response import ResponseStream
from apiext.meta.encoding import json_codec
from apiext.scheduling.time_slice import Pace
from apiext.server.version_map.reader_view import ReaderView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web

    from apiext.authorization.authorizer import Authorize
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.errors import StatusError
    from apiext.meta.request import UserInfo
    from apiext.server.version_map.live_map import MapChanges, RunningMap
    from apiext.storage.interface import Event

CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "X-Accel-Buffering": "no"}
HEARTBEAT_SECONDS: Final = 15.0
"""Seconds without an event after which a comment keeps the connection open."""
_RETRY: Final = b"retry: 2000\n\n"
"""Milliseconds after which a browser connects again."""
_TOGETHER: Final = 32
"""Definitions in an event: some tens of KiB."""


class MapStream:
    """Implements Watch, so that the end of the server ends the stream. It has no events of objects."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[list[Event]]:
        """Return no events: the stream sends its own."""
        raise NotImplementedError

    def fail(self, error: StatusError) -> None:
        """Implement Watch.fail."""
        self.close()

    def close(self) -> None:
        """Implement Watch.close."""
        self._ended.set()

    @property
    def has_ended(self) -> bool:
        """Report whether the stream was closed."""
        return self._ended.is_set()

    async def wait(self, state: RunningMap, seconds: float) -> bool | None:
        """Wait until the map changes (True) or for some seconds (False). Return None after the end of the stream."""
        if self._ended.is_set():
            return None
        waits = [asyncio.ensure_future(self._ended.wait()), asyncio.ensure_future(state.renewed())]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return None if self._ended.is_set() else waits[1].done()
        finally:
            for wait in waits:
                wait.cancel()


async def send_events(
    request: web.BaseRequest, stream: MapStream, state: RunningMap, user: UserInfo, authorize: Authorize
) -> web.StreamResponse:
    """Send the map and its changes until the stream ends or the client disconnects.

    A slow reader holds one change at a time: what changes meanwhile comes with the next one, in its latest state.
    """
    response = ResponseStream(content_type=CONTENT_TYPE, headers=_HEADERS)
    place = request.headers.get("Last-Event-ID", "")
    try:
        await response.prepare(request)
        await response.write(_RETRY)
        await state.begun()
        renewed: bool | None = True
        while renewed is not None:
            changes = state.changes_since(place)
            if changes is not None:
                await _send(response, changes, ReaderView(user, authorize))
                # more may have changed meanwhile
                place, renewed = changes.place, None if stream.has_ended else True
                continue
            if not renewed:
                await response.write(b": still here\n\n")
            renewed = await stream.wait(state, HEARTBEAT_SECONDS)
        await response.write_eof()
    except ConnectionError:
        pass  # the client has disconnected
    return response


async def _send(response: ResponseStream, changes: MapChanges, view: ReaderView) -> None:
    pace, entries = Pace(), changes.entries
    for first in range(0, max(len(entries), 1), _TOGETHER):
        definitions = []
        for entry in entries[first : first + _TOGETHER]:
            definitions.append(await view.shown(entry))
            await pace.checkpoint()
        data: Object = {
            "reset": changes.is_complete and not first,
            "definitions": definitions,
            "removed": () if first else changes.removed,
        }
        await response.write(_event("map", data))
    await response.write(b"id: %b\n" % changes.place.encode() + _event("state", {}))


def _event(name: str, data: Object) -> bytes:
    # JSON has no line breaks
    return b"event: %b\ndata: %b\n\n" % (name.encode(), json_codec.dumps(data, sort_keys=False))
