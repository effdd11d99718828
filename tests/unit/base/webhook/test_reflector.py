"""Lists and watches of another server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.base.webhook.reflector import Follower, Latest, Link, Reflector, single_object

Found = dict[str, Any]


def listed(*names: str, more: str = "") -> Found:
    """Return a page of a list; `more` is its continue token."""
    items = [{"metadata": {"name": name, "resourceVersion": "4"}, "data": "listed"} for name in names]
    return {"metadata": {"resourceVersion": "5"} | ({"continue": more} if more else {}), "items": items}


def event(kind: str, revision: str, data: str, name: str = "it") -> Found:
    """Return a watch event."""
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": revision}, "data": data}}


class Remote:
    """A server with the same pages for each list, and one list of events for each watch; the last watch stays open.

    A number instead of events is an error code. None at the end of the events breaks the connection.
    """

    def __init__(self, *watches: Sequence[Found | None] | int, pages: Sequence[Found] = (listed("it"),)) -> None:
        self._watches = list(watches)
        self._pages = pages
        self.asked: list[str] = []
        self.limit = ""
        self.enough = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Record the request and answer it."""
        query = request.query
        if "watch" not in query:
            self.limit = query["limit"]
            token = query.get("continue", "")
            self.asked.append(f"list {token}".strip())
            return web.Response(body=orjson.dumps(self._pages[int(token or 0)]))
        self.asked.append(f"watch {query['resourceVersion']}")
        events = self._watches.pop(0)
        if isinstance(events, int):
            return web.Response(status=events)
        response = web.StreamResponse()
        await response.prepare(request)
        for one in events:
            if one is None:
                assert request.transport is not None
                request.transport.abort()
                return response
            line = orjson.dumps(one) + b"\n"
            await response.write(line[:7])
            await response.write(line[7:])
        if not self._watches:
            self.enough.set()
            await asyncio.Event().wait()
        return response

    @asynccontextmanager
    async def running(self, collection: str, follower: Follower, **settings: Any) -> AsyncIterator[None]:
        """Run a reflector, and enter once the last watch has started."""
        async with RawTestServer(self, handler_cancellation=True) as server:
            client = WebhookClient(Endpoint(url=str(server.make_url("/")).rstrip("/"), context=None))
            task = asyncio.create_task(Reflector(client, collection, follower, min_pause=0.0, **settings).run())
            async with asyncio.timeout(30):
                await self.enough.wait()
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await client.close()


class Recorder:
    """A follower that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def replaced(self, objects: Sequence[Found]) -> None:
        """Record the names."""
        self.calls.append(("all", *(found["metadata"]["name"] for found in objects)))

    def changed(self, found: Found) -> None:
        """Record name and content."""
        self.calls.append(("changed", found["metadata"]["name"], found["data"]))

    def deleted(self, found: Found) -> None:
        """Record name and last content."""
        self.calls.append(("deleted", found["metadata"]["name"], found["data"]))


async def test_passes_on_each_state() -> None:
    """Pass on the listed object and each change; continue at the last revision when a watch ends."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    remote = Remote([event("MODIFIED", "7", "first"), event("DELETED", "8", "gone")], [event("ADDED", "8", "back"), bookmark], [])
    changes: list[str] = []
    async with remote.running("/objects", Latest(lambda found: changes.append(found["data"]))):
        assert remote.asked == ["list", "watch 5", "watch 8", "watch 9"]

    assert changes == ["listed", "first", "back"]


async def test_passes_on_all_pages_at_once() -> None:
    """Replace all objects once, after the last page, then pass on additions, changes and deletions."""
    events = [event("ADDED", "6", "new", "c"), event("MODIFIED", "7", "other", "a"), event("DELETED", "8", "last", "b")]
    remote, recorder = Remote(events, [], pages=[listed("a", more="1"), listed("b")]), Recorder()
    async with remote.running("/objects?labelSelector=x", recorder):
        assert remote.asked == ["list", "list 1", "watch 5", "watch 8"]

    assert recorder.calls == [("all", "a", "b"), ("changed", "c", "new"), ("changed", "a", "other"), ("deleted", "b", "last")]


async def test_lists_again_after_an_error() -> None:
    """List again after an error, in a watch or instead of one."""
    expired = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
    remote, recorder = Remote([expired], 500, 410, []), Recorder()
    async with remote.running("/objects", recorder):
        assert remote.asked == ["list", "watch 5"] * 4

    assert recorder.calls == [("all", "it")] * 4


async def test_continues_after_an_interruption() -> None:
    """Continue at the last revision after a broken connection and a 429."""
    remote, recorder = Remote([event("MODIFIED", "7", "first"), None], 429, []), Recorder()
    async with remote.running("/objects", recorder):
        assert remote.asked == ["list", "watch 5", "watch 7", "watch 7"]

    assert recorder.calls == [("all", "it"), ("changed", "it", "first")]


class RecordingLink(Link):
    """Records its calls; `refusals` is how often it refuses the server."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.notes: list[str] = []

    async def confirm(self) -> None:
        """Refuse the server as often as planned."""
        if self.refusals:
            self.refusals -= 1
            raise WebhookError("another server")

    def reached(self) -> None:
        """Record the call."""
        self.notes.append("reached")

    def lost(self, error: WebhookError) -> None:
        """Record the error."""
        self.notes.append(str(error).rpartition(" with ")[2])


async def test_reports_the_connection() -> None:
    """Send no request to a server that is refused, and report each success and failure."""
    remote, link = Remote(500, []), RecordingLink(2)
    async with remote.running("/objects", Recorder(), link=link):
        assert remote.asked == ["list", "watch 5"] * 2

    lost = "code 500"
    assert link.notes[:5] == ["another server", "another server", "reached", lost, "reached"]


async def test_lists_again_after_a_follower_failed(caplog: pytest.LogCaptureFixture) -> None:
    """List again after a follower raised an exception, and log it."""

    class Failing(Recorder):
        def changed(self, found: Found) -> None:
            super().changed(found)
            raise KeyError("oh")

    remote, recorder = Remote([event("MODIFIED", "7", "first")], []), Failing()
    async with remote.running("/objects", recorder):
        assert remote.asked == ["list", "watch 5"] * 2

    assert recorder.calls == [("all", "it"), ("changed", "it", "first"), ("all", "it")]
    assert "KeyError" in caplog.text


async def test_reduces_each_object() -> None:
    """Ask for pages of the given size, and pass on reduced objects."""
    remote, recorder = Remote([], pages=[listed("a", more="1"), listed("b")]), Recorder()
    async with remote.running("/objects", recorder, page=7, reduce=lambda found: {"metadata": {"name": found["metadata"]["name"] * 2}}):
        assert remote.limit == "7"

    assert recorder.calls == [("all", "aa", "bb")]


def test_selects_a_single_object() -> None:
    """Return a path with a field selector."""
    assert single_object("/api/v1/configmaps", "a-b") == "/api/v1/configmaps?fieldSelector=metadata.name%3Da-b"
