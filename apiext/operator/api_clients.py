"""Clients of the host and of apiext: JSON over HTTP, one call each; who calls decides what is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import orjson

from apiext.webhook.client import WebhookClient, WebhookError

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.webhook.kubeconfig import Endpoint

Json = dict[str, Any]

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_TIMEOUT: Final = 30.0
_PAGE: Final = 500
_QUOTED: Final = 200
"""Bytes of an answer that are told where it is no Status."""


class ApiError(Exception):
    """A call without success: the code of the answer (0 without one), and the reason and message of its Status."""

    def __init__(self, message: str, *, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class Api:
    """One server. Its endpoint may change meanwhile; calls that are under way then end without an answer."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.client = WebhookClient(endpoint, timeout=_TIMEOUT, backoff=())

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._endpoint.url

    async def use(self, endpoint: Endpoint) -> None:
        """Call at another endpoint from now on."""
        old, self._endpoint, self.client = self.client, endpoint, WebhookClient(endpoint, timeout=_TIMEOUT, backoff=())
        await old.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    async def get(self, path: str) -> Json:
        """The object at a path. Raises ApiError."""
        return await self._call("GET", path)

    async def find(self, path: str) -> Json | None:
        """The object at a path, None where the server says that there is none. Raises ApiError."""
        try:
            return await self._call("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def items(self, path: str) -> list[Json]:
        """All objects of a collection, as they are now; the path has no query. Raises ApiError."""
        return (await self.listing(path))[0]

    async def listing(self, path: str) -> tuple[list[Json], int]:
        """All objects of a collection, and as of which revision. Raises ApiError."""
        found: list[Json] = []
        token = ""
        while True:
            page = await self._call("GET", f"{path}?limit={_PAGE}{f'&continue={quote(token)}' if token else ''}")
            found += page.get("items") or ()
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            if not token:
                return found, int(metadata.get("resourceVersion") or 0)

    async def post(self, path: str, body: Any) -> Json:
        """Create. Raises ApiError."""
        return await self._call("POST", path, body)

    async def put(self, path: str, body: Any) -> Json:
        """Replace. Raises ApiError."""
        return await self._call("PUT", path, body)

    async def patch(self, path: str, body: Any) -> Json:
        """Merge; a resourceVersion in the body's metadata is a precondition. Raises ApiError."""
        return await self._call("PATCH", path, body, headers=_MERGE)

    async def delete(self, path: str, body: Any = None) -> Json:
        """Delete, with DeleteOptions. Raises ApiError."""
        return await self._call("DELETE", path, body)

    async def ask(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """Code and content of an answer, whatever it says. Raises ApiError where there is none."""
        try:
            return await self.client.ask(path, method=method, body=body, headers=headers)
        except WebhookError as error:
            raise ApiError(str(error), code=error.code) from error

    def refusal(self, method: str, path: str, code: int, data: bytes) -> ApiError:
        """What an answer without success says, in the words of its Status where it has one."""
        said = _object(data)
        text = data[:_QUOTED].decode(errors="replace").strip()
        message = said.get("message") or f"it answers with code {code}, and nothing that can be used: {text!r}"
        return ApiError(f'{method} "{self.url}{path}": {message}', code=code, reason=said.get("reason") or "")

    async def _call(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Json:
        code, data = await self.ask(method, path, body, headers=headers)
        said = _object(data)
        if code < 200 or code >= 300 or not said:
            raise self.refusal(method, path, code, data)
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEtcd:
    """Where the host keeps its objects, for those that are given back."""

    servers: tuple[str, ...]
    prefix: str = "/registry"
    cafile: Path | None = None
    certfile: Path | None = None
    keyfile: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """What the operator can reach."""

    host: Api
    apiext: Api
    host_etcd: HostEtcd | None = None


def _object(data: bytes) -> Json:
    """An answer's object; an empty one where it is none."""
    try:
        answer = orjson.loads(data)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
