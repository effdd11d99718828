"""The watch of the host by kopf, against a server that lists and watches two resources."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from apiext.base.scheduling.tasks import end_tasks
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator import host_watch
from apiext.operator.host_watch import HostWatch
from apiext.operator.watched_state import WatchedState
from tests.support.event_loop import until
from tests.unit.operator.parts import GROUP, SELECTOR, api_service, crd

RESOURCES = {"customresourcedefinitions": "apiextensions.k8s.io", "apiservices": "apiregistration.k8s.io"}
Json = dict[str, Any]


class Host:
    """Serves discovery, lists and watches of two resources; `send` adds an event to all open watches of one."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Json]] = {plural: [] for plural in RESOURCES}
        self.watches: dict[str, list[asyncio.Queue[Json]]] = {plural: [] for plural in RESOURCES}
        self.lists = 0
        self.watch_code = 200
        self.state = WatchedState(SELECTOR, lambda _: None)
        self.watch: HostWatch

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the server and the watch."""
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        async with TestServer(app) as server:
            url = str(server.make_url("")).rstrip("/")
            self.watch = HostWatch(lambda: Endpoint(url=url, context=None), self.state, self._startup, lambda: None)
            running = asyncio.create_task(self.watch.run())
            try:
                yield
            finally:
                await end_tasks(running)

    def send(self, plural: str, kind: str, found: Json) -> None:
        """Send an event to the watches of a resource."""
        for queue in self.watches[plural]:
            queue.put_nowait({"type": kind, "object": found})

    def names(self) -> set[str]:
        """Return the names of the watched objects."""
        return {found["metadata"]["name"] for found in (*self.state.crds.all(), *self.state.api_services.all())}

    async def until(self, names: set[str]) -> None:
        """Wait until exactly these objects are in the state."""
        await until(lambda: self.names() == names)

    async def until_watched(self) -> None:
        """Wait until both resources are watched."""
        await until(lambda: all(self.watches.values()))

    async def _startup(self, **_: Any) -> None:
        pass

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        plural = request.path.rpartition("/")[2]
        if plural in RESOURCES and "watch" in request.query:
            return await self._stream(plural, request)
        if plural in RESOURCES:
            self.lists += 1
            return _json({"metadata": {"resourceVersion": "10"}, "items": self.objects[plural]})
        return _json(_discovery(request.path))

    async def _stream(self, plural: str, request: web.Request) -> web.StreamResponse:
        if self.watch_code != 200:
            return web.json_response({"kind": "Status", "code": self.watch_code, "message": "broken"}, status=self.watch_code)
        response = web.StreamResponse()
        await response.prepare(request)
        queue: asyncio.Queue[Json] = asyncio.Queue()
        self.watches[plural].append(queue)
        try:
            while True:
                await response.write(orjson.dumps(await queue.get()) + b"\n")
        finally:
            self.watches[plural].remove(queue)


def _json(body: Json) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json")


def _discovery(path: str) -> Json:
    if path == "/api":
        return {"versions": ["v1"]}
    if path == "/api/v1":
        return {"resources": [_resource("namespaces")]}
    if path == "/apis":
        preferred = {"version": "v1"}
        return {"groups": [{"name": group, "preferredVersion": preferred, "versions": [preferred]} for group in RESOURCES.values()]}
    group = path.split("/")[2]
    return {"resources": [_resource(plural) for plural in RESOURCES if RESOURCES[plural] == group]}


def _resource(plural: str) -> Json:
    return {"name": plural, "singularName": "", "kind": plural, "namespaced": False, "verbs": ["get", "list", "watch", "patch"]}


@pytest.fixture
async def host(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Host]:
    """Provide a watched host with a definition and an APIService."""
    monkeypatch.setattr(host_watch, "RESTART_SECONDS", 0.05)
    monkeypatch.setattr(host_watch, "RETRY_SECONDS", (0.0,))
    host = Host()
    host.objects = {"customresourcedefinitions": [crd()], "apiservices": [api_service()]}
    async with host.running():
        await until(host.watch.synced.is_set)
        await host.until({f"widgets.{GROUP}", f"v1.{GROUP}"})
        await host.until_watched()
        yield host


async def test_follows_events(host: Host) -> None:
    """Add and remove objects as the watch reports them."""
    host.send("customresourcedefinitions", "ADDED", crd(plural="gadgets", resourceVersion="11"))
    host.send("apiservices", "DELETED", {**api_service(), "metadata": {**api_service()["metadata"], "resourceVersion": "12"}})

    await host.until({f"widgets.{GROUP}", f"gadgets.{GROUP}"})
    assert host.lists == 2


async def test_notices_deletions_during_an_interruption(host: Host) -> None:
    """List both resources again when the revision of a watch has expired, and drop what was deleted meanwhile."""
    host.objects["customresourcedefinitions"] = [crd(plural="gadgets", resourceVersion="20")]
    host.send("customresourcedefinitions", "ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})

    await host.until({f"gadgets.{GROUP}", f"v1.{GROUP}"})


async def test_restarts_after_a_failure(host: Host) -> None:
    """Start kopf again after a fatal error of a watch, and take the new lists."""
    host.watch_code = 500
    host.objects["apiservices"] = [api_service("v2")]
    host.send("apiservices", "ERROR", {"kind": "Status", "code": 500, "message": "broken"})
    await host.until({f"widgets.{GROUP}", f"v2.{GROUP}"})

    host.watch_code = 200
    await host.until_watched()
    host.send("apiservices", "ADDED", api_service("v3"))
    await host.until({f"widgets.{GROUP}", f"v2.{GROUP}", f"v3.{GROUP}"})


async def test_restarts_on_request(host: Host) -> None:
    """List both resources again on request, also where their revisions went backwards."""
    host.objects["customresourcedefinitions"] = [crd(plural="gadgets", resourceVersion="0")]
    host.watch.restart()

    await host.until({f"gadgets.{GROUP}", f"v1.{GROUP}"})


async def test_leaves_other_tasks_alone(host: Host) -> None:
    """Keep tasks of the event loop that were started after kopf when kopf is restarted."""
    other = asyncio.create_task(asyncio.Event().wait())
    host.objects["apiservices"] = [api_service("v2")]
    host.watch.restart()
    await host.until({f"widgets.{GROUP}", f"v2.{GROUP}"})

    assert not other.done()
    await end_tasks(other)
