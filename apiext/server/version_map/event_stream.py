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
from apiext.scheduling.time_slice import Pace, paced
from apiext.server.version_map.live_map import MapChanges
from apiext.server.version_map.reader_view import ReaderView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from aiohttp import web

    from apiext.authorization.authorizer import Authorize
    from apiext.meta.errors import StatusError
    from apiext.meta.request import UserInfo
    from apiext.server.version_map.entries import NamesShown
    from apiext.server.version_map.live_map import RunningMap
    from apiext.storage.interface import Event

CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "X-Accel-Buffering": "no"}
HEARTBEAT_SECONDS: Final = 15.0
"""Seconds without an event after which a comment keeps the connection open."""
_RETRY: Final = b"retry: 2000\n\n"
"""Milliseconds after which a browser connects again."""
RIGHTS_SECONDS: Final = 30.0
"""Seconds after which the reader's permissions to see names are checked again. Decisions of a host may be cached as long."""
_UNKNOWN: Final[NamesShown] = ()
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
    try:
        await response.prepare(request)
        await response.write(_RETRY)
        await state.begun()
        await _Reader(response, stream, state, lambda: ReaderView(user, authorize)).run(request.headers.get("Last-Event-ID", ""))
        await response.write_eof()
    except ConnectionError:
        pass  # the client has disconnected
    return response


class _Reader:
    """Sends the map to one reader."""

    def __init__(self, response: ResponseStream, stream: MapStream, state: RunningMap, view: Callable[[], ReaderView]) -> None:
        self._response = response
        self._stream = stream
        self._state = state
        self._view = view
        self._names: dict[str, NamesShown] = {}
        """The names that were sent to the reader, by definition."""

    async def run(self, place: str) -> None:
        """Send what has changed since a place, and all later changes, until the stream ends. Raises ConnectionError."""
        loop = asyncio.get_running_loop()
        renewed: bool | None = True
        checked = -RIGHTS_SECONDS if place else loop.time()
        while renewed is not None and not self._stream.has_ended:
            changes = self._state.changes_since(place)
            if changes is not None:
                place = changes.place
                await self._send(changes)
                # more may have changed meanwhile
                continue
            if (left := checked + RIGHTS_SECONDS - loop.time()) <= 0:
                await self._recheck(place)
                checked = loop.time()
                continue
            if not renewed:
                await self._response.write(b": still here\n\n")
            renewed = await self._stream.wait(self._state, min(left, HEARTBEAT_SECONDS))

    async def _send(self, changes: MapChanges) -> None:
        if changes.is_complete:
            self._names.clear()
        for name in changes.removed:
            self._names.pop(name, None)
        pace, view, entries = Pace(), self._view(), changes.entries
        for first in range(0, max(len(entries), 1), _TOGETHER):
            definitions = []
            for entry in entries[first : first + _TOGETHER]:
                names = self._names[entry.name] = await view.names(entry)
                definitions.append(entry.encoded(names))
                await pace.checkpoint()
            reset = b"true" if changes.is_complete and not first else b"false"
            removed = json_codec.dumps(() if first else changes.removed)
            data = b'{"reset":%b,"definitions":[%b],"removed":%b}' % (reset, b",".join(definitions), removed)
            await self._response.write(b"event: map\ndata: %b\n\n" % data)
        await self._response.write(b"id: %b\nevent: state\ndata: {}\n\n" % changes.place.encode())

    async def _recheck(self, place: str) -> None:
        """Send definitions again after a change of the permission to see their names. Raises ConnectionError."""
        view, changed = self._view(), []
        async for entry in paced(self._state.entries()):
            names = await view.names(entry)
            # a reader that has come back may have got any names before
            if self._names.setdefault(entry.name, names if all(names) else _UNKNOWN) != names:
                changed.append(entry)
        if changed:
            await self._send(MapChanges(place, is_complete=False, entries=changed, removed=()))
