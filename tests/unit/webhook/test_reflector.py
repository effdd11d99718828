"""An object of another server is followed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.webhook.client import WebhookClient
from apiext.webhook.kubeconfig import Endpoint
from apiext.webhook.reflector import Reflector

LIST = {"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "it", "resourceVersion": "4"}, "data": "listed"}]}


def event(kind: str, revision: str, data: str) -> dict[str, Any]:
    """An event of a watch."""
    return {"type": kind, "object": {"metadata": {"resourceVersion": revision}, "data": data}}


class Remote:
    """Answers each list with the same, and watches one after the other; the last one stays open. None is a failure."""

    def __init__(self, *watches: list[dict[str, Any]] | None) -> None:
        self._watches = list(watches)
        self.asked: list[str] = []
        self.changes: list[str] = []
        self.enough = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Note the request and answer it."""
        query = request.query
        assert query["fieldSelector"] == "metadata.name=it"
        if "watch" not in query:
            self.asked.append("list")
            return web.Response(body=orjson.dumps(LIST))
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
    async def followed(self) -> AsyncIterator[None]:
        """Until the last watch has begun."""
        async with RawTestServer(self, handler_cancellation=True) as server:
            client = WebhookClient(Endpoint(url=str(server.make_url("/")).rstrip("/"), context=None))
            reflector = Reflector(client, "/objects", "it", lambda found: self.changes.append(found["data"]), shortest=0.0)
            task = asyncio.create_task(reflector.run())
            async with asyncio.timeout(10):
                await self.enough.wait()
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await client.close()


async def test_changes() -> None:
    """The object is told as it is listed and after each change; a watch that ends goes on where it was."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    remote = Remote([event("MODIFIED", "7", "first"), event("DELETED", "8", "gone")], [event("ADDED", "8", "back"), bookmark], [])
    async with remote.followed():
        assert remote.asked == ["list", "watch 5", "watch 8", "watch 9"]

    assert remote.changes == ["listed", "first", "back"]


async def test_failures() -> None:
    """After an error, in a watch or instead of one, it begins with a list."""
    expired = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
    remote = Remote([expired], None, [])
    async with remote.followed():
        assert remote.asked == ["list", "watch 5"] * 3

    assert remote.changes == ["listed"] * 3
