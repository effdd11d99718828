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

from apiext.endpoints.own_paths import VERSION_MAP, VERSION_MAP_DATA, VERSION_MAP_EVENTS
from apiext.endpoints.request import USER
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.responsewriters.status import text_reply
from apiext.meta import errors
from apiext.scheduling.time_slice import paced
from apiext.server.version_map import page
from apiext.server.version_map.event_stream import MapStream, send_events
from apiext.server.version_map.live_map import LiveMap
from apiext.server.version_map.reader_view import ReaderView

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.authorization.authorizer import Authorize
    from apiext.endpoints.scopes.open_watches import Watches
    from apiext.server.version_map.sources import MapSources

MAX_STREAMS: Final = 64
"""Open streams of all users; more readers get 429."""
_HTML: Final = "text/html; charset=utf-8"
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


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
