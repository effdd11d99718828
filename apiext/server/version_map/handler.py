"""Handler of `/apiext/versions`, the page of the version map, and of the paths below it.

| path | answer |
| --- | --- |
| `/apiext/versions` | the page |
| `/apiext/versions/data` | the whole map in JSON, once all objects are counted |
| `/apiext/versions/events` | the map and its changes as server-sent events |
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs

from apiext.api.endpoints.own_paths import VERSION_MAP, VERSION_MAP_DATA, VERSION_MAP_EVENTS
from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import Reply, ResponseStream
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.time_slice import Pace, paced
from apiext.server.version_map import page
from apiext.server.version_map.live_map import LiveMap, MapChanges
from apiext.server.version_map.reader_view import ReaderView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from aiohttp import web

    from apiext.api.authorization.authorizer import Authorize
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.base.meta.errors import StatusError
    from apiext.base.meta.request import UserInfo
    from apiext.server.version_map.entries import NamesShown
    from apiext.server.version_map.live_map import RunningMap
    from apiext.server.version_map.sources import MapSources
    from apiext.storage.interface import Event

MAX_STREAMS: Final = 64
"""Open streams of all users; more readers get 429."""
_HTML: Final = "text/html; charset=utf-8"
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}

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


class VersionMapHandler:
    """Answers requests for the page and its data."""

    def __init__(self, sources: MapSources, authorize: Authorize, watches: Watches) -> None:
        """Create the handler. `authorize` decides which names of objects a user sees. When `watches` ends, all streams end."""
        self.live = LiveMap(sources)
        self._authorize = authorize
        self.watches = watches
        self._streams = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request.

        Raises:
            StatusError: another method than GET (405), too many streams (429).
        """
        answers = {VERSION_MAP: self._page, VERSION_MAP_DATA: self._data, VERSION_MAP_EVENTS: self._events}
        answer = answers.get(request.path)
        if answer is None:
            return text_reply("404 page not found", status=404)
        if request.method != hdrs.METH_GET:
            raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
        return await answer(request)

    async def close(self) -> None:
        """Stop all work for readers."""
        await self.live.close()

    async def _page(self, _request: web.BaseRequest) -> web.StreamResponse:
        return Reply(page.live_page(), content_type=_HTML, headers=page.headers())

    async def _data(self, request: web.BaseRequest) -> web.StreamResponse:
        view = ReaderView(request[USER], self._authorize)
        with self.live.reading() as state:
            await state.settled()
            changes = state.changes_since("")
        entries = changes.entries if changes is not None else ()
        encoded = [entry.encoded(await view.names(entry)) async for entry in paced(entries)]
        return Reply(b'{"definitions":[%b]}\n' % b",".join(encoded), headers=_NO_SNIFFING)

    async def _events(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._streams >= MAX_STREAMS:
            raise errors.too_many_requests("too many readers of the version map, please try again later", 10)
        stream = MapStream()
        self.watches.add(stream)
        self._streams += 1
        # a later stream authenticates its user again
        timer = asyncio.get_running_loop().call_later(self.watches.seconds(None), stream.close)
        try:
            with self.live.reading() as state:
                return await send_events(request, stream, state, request[USER], self._authorize)
        finally:
            timer.cancel()
            self._streams -= 1
            self.watches.discard(stream)
