"""Objects of another server are followed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.webhook.client import WebhookClient
from apiext.webhook.kubeconfig import Endpoint
from apiext.webhook.reflector import Follower, Latest, Reflector, only

Found = dict[str, Any]


def listed(*names: str, more: str = "") -> Found:
    """A page of a list; `more` is where the next one begins."""
    items = [{"metadata": {"name": name, "resourceVersion": "4"}, "data": "listed"} for name in names]
    return {"metadata": {"resourceVersion": "5"} | ({"continue": more} if more else {}), "items": items}


def event(kind: str, revision: str, data: str, name: str = "it") -> Found:
    """An event of a watch."""
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": revision}, "data": data}}


class Remote:
    """Answers each list with the same pages, and watches one after the other; the last one stays open. None is a failure."""

    def __init__(self, *watches: list[Found] | None, pages: Sequence[Found] = (listed("it"),)) -> None:
        self._watches = list(watches)
        self._pages = pages
        self.asked: list[str] = []
        self.enough = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Note the request and answer it."""
        query = request.query
        if "watch" not in query:
            assert query["limit"] == "500"
            token = query.get("continue", "")
            self.asked.append(f"list {token}".strip())
            return web.Response(body=orjson.dumps(self._pages[int(token or 0)]))
        self.asked.append(f"watch {query['resourceVersion']}")
        events = self._watches.pop(0)
        if events is None:
            return web.Response(status=500)
        response = web.StreamResponse()
        await response.prepare(request)
        for one in events:
            line = orjson.dumps(one) + b"\n"
            await response.write(line[:7])
            await response.write(line[7:])
        if not self._watches:
            self.enough.set()
            await asyncio.Event().wait()
        return response

    @asynccontextmanager
    async def followed(self, collection: str, follower: Follower) -> AsyncIterator[None]:
        """Until the last watch has begun."""
        async with RawTestServer(self, handler_cancellation=True) as server:
            client = WebhookClient(Endpoint(url=str(server.make_url("/")).rstrip("/"), context=None))
            task = asyncio.create_task(Reflector(client, collection, follower, shortest=0.0).run())
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
    remote, told = Remote([expired], None, []), Told()
    async with remote.followed("/objects", told):
        assert remote.asked == ["list", "watch 5"] * 3

    assert told.news == [("all", "it")] * 3


def test_address_of_one() -> None:
    """A single object is a collection with a selector."""
    assert only("/api/v1/configmaps", "a-b") == "/api/v1/configmaps?fieldSelector=metadata.name%3Da-b"
