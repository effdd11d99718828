"""An API server in memory for the operator's client: objects by path, with revisions, merge patches and conflicts."""

import copy
from typing import Any
from urllib.parse import urlsplit

from apiext.base.meta.patch import merge_patch
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.api_clients import ApiClient, ApiError

Json = dict[str, Any]


class MemoryApi(ApiClient):
    """Answers as kube-apiserver does. With `down` it answers no request. `refused` has errors by method and path."""

    def __init__(self) -> None:
        super().__init__(Endpoint(url="http://memory", context=None))
        self.objects: dict[str, Json] = {}
        self.calls: list[tuple[str, str]] = []
        self.down = False
        self.refused: dict[tuple[str, str], ApiError] = {}
        self.revision = 100

    def put_in(self, path: str, found: Json) -> Json:
        """Store an object at a path, as if another client had written it."""
        self.revision += 1
        stored = copy.deepcopy(found)
        before = self.objects.get(path)
        uid = before["metadata"]["uid"] if before else f"uid-{self.revision}"
        stored["metadata"] = {
            "name": path.rpartition("/")[2],
            "uid": uid,
            **stored.get("metadata", {}),
            "resourceVersion": str(self.revision),
        }
        self.objects[path] = stored
        return copy.deepcopy(stored)

    def under(self, collection: str) -> dict[str, Json]:
        """Return the objects of a collection by name."""
        return {path.removeprefix(f"{collection}/"): found for path, found in self.objects.items() if path.startswith(f"{collection}/")}

    def written(self) -> list[tuple[str, str]]:
        """Return the write calls, except those of events."""
        return [call for call in self.calls if call[0] != "GET" and "/events" not in call[1]]

    async def call(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Json:
        """Implement ApiClient.call."""
        path = urlsplit(path).path
        self.calls.append((method, path))
        if self.down:
            raise ApiError("cannot connect")
        if (method, path) in self.refused:
            raise self.refused[method, path]
        return copy.deepcopy(self._answer(method, path.removesuffix("/status"), body))

    def _answer(self, method: str, path: str, body: Any) -> Json:
        found = self.objects.get(path)
        if method == "GET" and found is None and path.endswith("s"):
            return {"items": list(self.under(path).values()), "metadata": {"resourceVersion": str(self.revision)}}
        if method == "POST":
            return self._created(path, body)
        if found is None:
            raise ApiError(f"{path} not found", code=404)
        if method == "GET":
            return found
        self._check(found, body)
        if method == "DELETE":
            return self.objects.pop(path)
        return self.put_in(path, body if method == "PUT" else merge_patch(found, body))

    def _created(self, collection: str, body: Json) -> Json:
        path = f"{collection}/{body['metadata'].get('name', 'unnamed')}"
        if path in self.objects:
            raise ApiError(f"{path} already exists", code=409)
        return self.put_in(path, body)

    def _check(self, found: Json, body: Any) -> None:
        wanted = {**((body or {}).get("metadata") or {}), **((body or {}).get("preconditions") or {})}
        for name in ("resourceVersion", "uid"):
            if wanted.get(name) not in {None, found["metadata"][name]}:
                raise ApiError(f"{name} is another", code=409)
