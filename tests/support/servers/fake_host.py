"""A host cluster in the test process. It lists and watches definitions as kube-apiserver does."""

import asyncio
import copy
import json
from typing import Any, Self

from aiohttp import web

from apiext.base.webhook.client import WebhookClient
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint

COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class FakeHost:
    """Stores definitions by name and sends changes to watchers. It can stop, drop its history, and become another cluster."""

    def __init__(self) -> None:
        self.uid = "host-1"
        self.revision = 100
        self.definitions: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self._log: list[tuple[int, str, dict[str, Any]]] = []
        self._oldest = 0
        self._news = asyncio.Condition()
        self._runner: web.ServerRunner | None = None
        self._port = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start to serve, always on the same address."""
        server = web.Server(self._answer, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop serving."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def client(self) -> WebhookClient:
        """Return a client of the host."""
        return WebhookClient(Endpoint(url=f"http://127.0.0.1:{self._port}", context=None), timeout=5.0)

    async def put(self, crd: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        """Create or replace a definition. Keyword arguments add to its metadata."""
        name = crd["metadata"]["name"]
        before = self.definitions.get(name)
        stored = copy.deepcopy(crd)
        uid = before["metadata"]["uid"] if before else f"uid-{self.revision + 1}"
        stored["metadata"] |= {"uid": uid, **metadata}
        await self._tell("MODIFIED" if before else "ADDED", stored)
        return stored

    async def terminate(self, name: str) -> None:
        """Set the deletionTimestamp of a definition."""
        await self.put(self.definitions[name], deletionTimestamp="2026-01-01T00:00:00Z")

    async def remove(self, name: str) -> None:
        """Delete a definition."""
        await self._tell("DELETED", self.definitions.pop(name))

    async def drop_history(self, name: str = "") -> None:
        """Drop the history and delete the named definitions: watchers must list again."""
        self.definitions.pop(name, None)
        self.revision += 1
        self._oldest = self.revision + 1
        async with self._news:
            self._news.notify_all()

    def restore(self) -> None:
        """Become another cluster with the same definitions, at the first revision."""
        self.revision, self._oldest, self._log = 10, 11, []
        for crd in self.definitions.values():
            crd["metadata"]["resourceVersion"] = "10"

    async def _tell(self, kind: str, crd: dict[str, Any]) -> None:
        self.revision += 1
        crd["metadata"]["resourceVersion"] = str(self.revision)
        if kind != "DELETED":
            self.definitions[crd["metadata"]["name"]] = crd
        async with self._news:
            self._log.append((self.revision, kind, copy.deepcopy(crd)))
            self._news.notify_all()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        if request.path == "/api/v1/namespaces/kube-system":
            return _json({"metadata": {"uid": self.uid}})
        if request.query.get("watch"):
            return await self._watch(request)
        if request.path == COLLECTION:
            return self._list(request)
        found = self.definitions.get(request.path.removeprefix(f"{COLLECTION}/"))
        return _json(found) if found else _json({"message": "not found", "code": 404}, 404)

    def _list(self, request: web.BaseRequest) -> web.StreamResponse:
        begin, limit = int(request.query.get("continue", 0)), int(request.query["limit"])
        names = sorted(self.definitions)[begin : begin + limit]
        # Items of a list have no kind.
        bare = [{key: value for key, value in self.definitions[name].items() if key not in {"kind", "apiVersion"}} for name in names]
        more = {"continue": str(begin + limit)} if begin + limit < len(self.definitions) else {}
        return _json({"metadata": {"resourceVersion": str(self.revision), **more}, "items": bare})

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        seen = int(request.query["resourceVersion"])
        if seen > self.revision:
            return _json({"message": f"Too large resource version: {seen}, current: {self.revision}", "code": 504}, 504)
        response = web.StreamResponse()
        await response.prepare(request)
        while seen + 1 >= self._oldest:
            for revision, kind, crd in [event for event in self._log if event[0] > seen]:
                seen = revision
                await response.write(json.dumps({"type": kind, "object": crd}).encode() + b"\n")
            async with self._news:
                while seen + 1 >= self._oldest and not any(event[0] > seen for event in self._log):
                    await self._news.wait()
        expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        await response.write(json.dumps({"type": "ERROR", "object": expired}).encode() + b"\n")
        return response


def _json(body: Any, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(body).encode(), status=status)
