"""Reads and writes of custom resources, with the errors that controller-runtime's client gives its callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from apiext.tools.replay.server_client import APPLY_PATCH, MERGE_PATCH, RefusedError
from apiext.tools.suites.objects import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient

MANAGER: Final = "apiext-test"
"""The field manager of all writes that name none."""
NO_FINALIZERS: Final = {"metadata": {"finalizers": None}}
"""The patch with which a deleted object goes away."""
_NO_RESOURCE: Final = "the server could not find the requested resource"


class ClientError(Exception):
    """A call failed. The text is the client's; `causes` are the fields that the server names, with their messages."""

    def __init__(self, message: str, causes: list[tuple[str, str]] | None = None) -> None:
        super().__init__(message)
        self.causes = causes or []


class ResourceClient:
    """Calls a server about the resource of one definition.

    Raises:
        ClientError: from every method, if the server refuses the call, or the object is not of the definition.
        ReplayError: from every method, if the server does not answer.
    """

    def __init__(self, server: ServerClient, crd: Object) -> None:
        spec = crd["spec"]
        self._server = server
        self._group = spec["group"]
        self._kind = spec["names"]["kind"]
        self._plural = spec["names"]["plural"]
        self._namespaced: bool = spec.get("scope") == "Namespaced"
        self._versions = {version["name"] for version in spec["versions"] if version.get("served")}

    @property
    def namespaced(self) -> bool:
        """Return whether the objects are in namespaces."""
        return self._namespaced

    async def create(self, obj: Object, *, manager: str = MANAGER) -> Object:
        """Create an object; return the answer."""
        return await self._ask("POST", self._collection(obj), obj, query={"fieldManager": manager})

    async def update(self, obj: Object, *, subresource: str = "", manager: str = MANAGER) -> Object:
        """Replace an object, or a subresource of it; return the answer."""
        return await self._ask("PUT", self._path(obj, subresource), obj, query={"fieldManager": manager})

    async def apply(self, obj: Object, *, subresource: str = "", manager: str = MANAGER, force: bool = False) -> Object:
        """Apply a configuration; return the answer."""
        query = {"fieldManager": manager} | ({"force": "true"} if force else {})
        return await self._ask("PATCH", self._path(obj, subresource), obj, content=APPLY_PATCH, query=query)

    async def get(self, obj: Object, *, subresource: str = "") -> Object:
        """Return the object with the apiVersion, kind, namespace and name of another."""
        return await self._ask("GET", self._path(obj, subresource))

    async def delete(self, obj: Object) -> Object:
        """Delete the object with the apiVersion, kind, namespace and name of another; return the answer."""
        return await self._ask("DELETE", self._path(obj, ""))

    async def purge(self, obj: Object) -> None:
        """Delete such an object in spite of its finalizers."""
        left = await self.delete(obj)
        if (left.get("metadata") or {}).get("finalizers"):
            await self._ask("PATCH", self._path(obj, ""), NO_FINALIZERS, content=MERGE_PATCH)

    def reference(self, version: str, name: str, namespace: str = "") -> Object:
        """Return an object that only names one."""
        metadata = {"name": name, "namespace": namespace or NAMESPACE}
        return {"apiVersion": f"{self._group}/{version}", "kind": self._kind, "metadata": metadata}

    def _path(self, obj: Object, subresource: str) -> str:
        name = (obj.get("metadata") or {}).get("name")
        if not name:
            raise ClientError("resource name may not be empty")
        return f"{self._collection(obj)}/{quote(str(name))}{f'/{subresource}' if subresource else ''}"

    def _collection(self, obj: Object) -> str:
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not kind:
            raise ClientError("Object 'Kind' is missing in the object")
        group, _, version = str(api_version).rpartition("/")
        if kind != self._kind or group != self._group or version not in self._versions:
            raise ClientError(f'no matches for kind "{kind}" in version "{api_version}"')
        namespace = (obj.get("metadata") or {}).get("namespace") or NAMESPACE
        inner = f"namespaces/{quote(str(namespace))}/" if self._namespaced else ""
        return f"/apis/{self._group}/{version}/{inner}{self._plural}"

    async def _ask(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json", query: Mapping[str, str] | None = None
    ) -> Object:
        try:
            return await self._server.ask(method, path, body, content=content, query=query)
        except RefusedError as error:
            raise ClientError(str(error) if error.status.get("kind") == "Status" else _NO_RESOURCE, error.causes) from error
