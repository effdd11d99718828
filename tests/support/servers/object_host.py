"""A host in the test process that serves any resources: their discovery, lists, objects and watches."""

import asyncio
import json
from collections import defaultdict
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook.client import WebhookClient
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from tests.support.event_loop import settle

Found = dict[str, Any]


class ObjectHost:
    """Objects by the path of their resource and by namespace and name; `serve` adds a resource."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refused: set[str] = set()
        """Paths that the host answers with 403."""
        self._resources: dict[str, dict[str, Found]] = defaultdict(dict)
        self._objects: dict[str, dict[tuple[str, str], Found]] = {}
        self._watches: dict[str, list[asyncio.Queue[Found | None]]] = defaultdict(list)
        self._revision = 10
        self._server = RawTestServer(self._answer, handler_cancellation=True)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        self.client = WebhookClient(Endpoint(url=str(self._server.make_url("/")).rstrip("/"), context=None))
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.client.close()
        # connections that were accepted meanwhile get their transports, which the server closes
        await settle()
        await self._server.close()
        await settle()

    def serve(self, api: str, plural: str, kind: str, *, namespaced: bool = False) -> None:
        """Serve a resource of a group and version, such as /api/v1."""
        self._resources[api][plural] = {"name": plural, "kind": kind, "namespaced": namespaced}
        self._objects[f"{api}/{plural}"] = {}

    def drop(self, api: str, plural: str) -> None:
        """Serve a resource no more; its watches end."""
        del self._resources[api][plural], self._objects[f"{api}/{plural}"]
        for watch in self._watches.pop(f"{api}/{plural}", ()):
            watch.put_nowait(None)

    def put(self, path: str, name: str, namespace: str = "", *, silent: bool = False, **content: Any) -> Found:
        """Create or replace an object; watches do not see a `silent` one."""
        self._revision += 1
        metadata = {"name": name, "uid": name, "resourceVersion": str(self._revision), **content.pop("metadata", {})}
        metadata |= {"namespace": namespace} if namespace else {}
        found = {"metadata": metadata, **content}
        self._objects[path][namespace, name] = found
        self._tell(path, {"type": "MODIFIED", "object": found}, silent=silent)
        return found

    def remove(self, path: str, name: str, namespace: str = "") -> None:
        """Delete an object."""
        self._tell(path, {"type": "DELETED", "object": self._objects[path].pop((namespace, name))})

    def _tell(self, path: str, event: Found, *, silent: bool = False) -> None:
        for watch in () if silent else self._watches[path]:
            watch.put_nowait(event)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, kind = request.path, "watch" if "watch" in request.query else "get"
        self.asked.append(f"{kind} {path}")
        if path in self.refused:
            return _json({"kind": "Status", "code": 403, "reason": "Forbidden", "message": f"{path} is forbidden"}, 403)
        if path.startswith("/apis/") and path.count("/") == 3 and path not in self._resources:
            return web.Response(status=404, text="404 page not found\n")
        if path in self._resources:
            return _json({"kind": "APIResourceList", "resources": list(self._resources[path].values())})
        if path in self._objects:
            return await (self._watch(request, path) if kind == "watch" else self._list(path))
        found = self._object(path)
        return _json(found) if found else _json({"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}, 404)

    async def _list(self, path: str) -> web.StreamResponse:
        return _json({"metadata": {"resourceVersion": str(self._revision)}, "items": list(self._objects[path].values())})

    async def _watch(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        events: asyncio.Queue[Found | None] = asyncio.Queue()
        self._watches[path].append(events)
        response = web.StreamResponse()
        await response.prepare(request)
        while event := await events.get():
            await response.write(json.dumps(event).encode() + b"\n")
        return response

    def _object(self, path: str) -> Found | None:
        parent, _, name = path.rpartition("/")
        api, _, rest = parent.partition("/namespaces/")
        namespace, _, plural = rest.partition("/")
        return self._objects.get(f"{api}/{plural}" if plural else parent, {}).get((namespace, name))


def _json(body: Any, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(body).encode(), status=status)
