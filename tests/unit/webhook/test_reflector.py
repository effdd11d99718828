"""Objects of another server are followed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.webhook.client import WebhookClient, WebhookError
from apiext.webhook.kubeconfig import Endpoint
from apiext.webhook.reflector import Follower, Latest, Link, Reflector, only

Found = dict[str, Any]


def listed(*names: str, more: str = "") -> Found:
    """A page of a list; `more` is where the next one begins."""
    items = [{"metadata": {"name": name, "resourceVersion": "4"}, "data": "listed"} for name in names]
    return {"metadata": {"resourceVersion": "5"} | ({"continue": more} if more else {}), "items": items}


def event(kind: str, revision: str, data: str, name: str = "it") -> Found:
    """An event of a watch."""
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": revision}, "data": data}}


class Remote:
    """Answers each list with the same pages, and watches one after the other; the last one stays open. A number is a failure.

    A watch with None at its end breaks off there.
    """

    def __init__(self, *watches: Sequence[Found | None] | int, pages: Sequence[Found] = (listed("it"),)) -> None:
        self._watches = list(watches)
        self._pages = pages
        self.asked: list[str] = []
        self.limit = ""
        self.enough = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Note the request and answer it."""
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
    async def followed(self, collection: str, follower: Follower, **settings: Any) -> AsyncIterator[None]:
        """Until the last watch has begun."""
        async with RawTestServer(self, handler_cancellation=True) as server:
            client = WebhookClient(Endpoint(url=str(server.make_url("/")).rstrip("/"), context=None))
            task = asyncio.create_task(Reflector(client, collection, follower, shortest=0.0, **settings).run())
            async with asyncio.timeout(10):
                await self.enough.wait()
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await client.close()


class Told:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.news: list[tuple[str, ...]] = []

    def replaced(self, objects: Sequence[Found]) -> None:
        """All names."""
        self.news.append(("all", *(found["metadata"]["name"] for found in objects)))

    def changed(self, found: Found) -> None:
        """Name and content."""
        self.news.append(("changed", found["metadata"]["name"], found["data"]))

    def deleted(self, found: Found) -> None:
        """Name and last content."""
        self.news.append(("deleted", found["metadata"]["name"], found["data"]))


async def test_changes() -> None:
    """A single object is told as it is listed and after each change; a watch that ends goes on where it was."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    remote = Remote([event("MODIFIED", "7", "first"), event("DELETED", "8", "gone")], [event("ADDED", "8", "back"), bookmark], [])
    changes: list[str] = []
    async with remote.followed("/objects", Latest(lambda found: changes.append(found["data"]))):
        assert remote.asked == ["list", "watch 5", "watch 8", "watch 9"]

    assert changes == ["listed", "first", "back"]


async def test_collections() -> None:
    """Of a collection all pages are told as one, then every object that comes, changes or goes."""
    events = [event("ADDED", "6", "new", "c"), event("MODIFIED", "7", "other", "a"), event("DELETED", "8", "last", "b")]
    remote, told = Remote(events, [], pages=[listed("a", more="1"), listed("b")]), Told()
    async with remote.followed("/objects?labelSelector=x", told):
        assert remote.asked == ["list", "list 1", "watch 5", "watch 8"]

    assert told.news == [("all", "a", "b"), ("changed", "c", "new"), ("changed", "a", "other"), ("deleted", "b", "last")]


async def test_failures() -> None:
    """After an error, in a watch or instead of one, it begins with a list."""
    expired = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
    remote, told = Remote([expired], 500, 410, []), Told()
    async with remote.followed("/objects", told):
        assert remote.asked == ["list", "watch 5"] * 4

    assert told.news == [("all", "it")] * 4


async def test_interruptions() -> None:
    """Where the server was not there for a while, or had too much to do, the watch goes on where it was."""
    remote, told = Remote([event("MODIFIED", "7", "first"), None], 429, []), Told()
    async with remote.followed("/objects", told):
        assert remote.asked == ["list", "watch 5", "watch 7", "watch 7"]

    assert told.news == [("all", "it"), ("changed", "it", "first")]


class Watched(Link):
    """Notes how it goes; `doubts` is how often the server is not the one that is meant."""

    def __init__(self, doubts: int) -> None:
        self.doubts = doubts
        self.notes: list[str] = []

    async def confirm(self) -> None:
        """Have doubts, as long as there are any."""
        if self.doubts:
            self.doubts -= 1
            raise WebhookError("another server")

    def reached(self) -> None:
        """Note it."""
        self.notes.append("reached")

    def lost(self, error: WebhookError) -> None:
        """Note why."""
        self.notes.append(str(error).rpartition(" with ")[2])


async def test_link() -> None:
    """Nothing is asked of a server that is not confirmed; that it is there, and that it is not, is told."""
    remote, link = Remote(500, []), Watched(2)
    async with remote.followed("/objects", Told(), link=link):
        assert remote.asked == ["list", "watch 5"] * 2

    lost = "code 500 that cannot be used"
    assert link.notes[:5] == ["another server", "another server", "reached", lost, "reached"]


async def test_followers_that_fail(caplog: pytest.LogCaptureFixture) -> None:
    """A follower that fails is told everything anew."""

    class Failing(Told):
        def changed(self, found: Found) -> None:
            super().changed(found)
            raise KeyError("oh")

    remote, told = Remote([event("MODIFIED", "7", "first")], []), Failing()
    async with remote.followed("/objects", told):
        assert remote.asked == ["list", "watch 5"] * 2

    assert told.news == [("all", "it"), ("changed", "it", "first"), ("all", "it")]
    assert "KeyError" in caplog.text


async def test_large_collections() -> None:
    """Pages are as large as they should be, and of what they bring is kept what is needed."""
    remote, told = Remote([], pages=[listed("a", more="1"), listed("b")]), Told()
    async with remote.followed("/objects", told, page=7, reduce=lambda found: {"metadata": {"name": found["metadata"]["name"] * 2}}):
        assert remote.limit == "7"

    assert told.news == [("all", "aa", "bb")]


def test_address_of_one() -> None:
    """A single object is a collection with a selector."""
    assert only("/api/v1/configmaps", "a-b") == "/api/v1/configmaps?fieldSelector=metadata.name%3Da-b"
