"""Client of a server of its own: reads and writes of definitions and objects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from apiext.base.meta.encoding import json_codec
from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.tools.releases.cluster_connection import DEFINITIONS, resource_path
from apiext.tools.replay.outcome import ReplayError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.resources.definitions.definition import Definition

MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
MANAGER: Final = "apiext-replay"
"""The field manager of all writes."""
_TIMEOUT_SECONDS: Final = 120.0
_PAGE: Final = 500
_CONCURRENT: Final = 32
_DRY_RUN: Final = {"dryRun": "All"}


class RefusedError(Exception):
    """The server refuses a request. `status` is its answer."""

    def __init__(self, code: int, status: Object) -> None:
        super().__init__(str(status.get("message") or f"code {code}"))
        self.code = code
        self.status = status

    @property
    def causes(self) -> list[tuple[str, str]]:
        """Return the fields with their messages."""
        causes = (self.status.get("details") or {}).get("causes") or ()
        return [(str(cause.get("field") or ""), str(cause.get("message") or "")) for cause in causes]


class ServerClient:
    """Asks the server.

    Raises:
        RefusedError: from every method, if the server refuses a request.
        ReplayError: from every method, if it does not answer.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._client = WebhookClient(endpoint, timeout=_TIMEOUT_SECONDS, backoff=())

    async def ask(self, method: str, path: str, body: Any = None, *, content: str = "application/json", query: Any = None) -> Object:
        """Return the JSON answer to a request."""
        url = f"{path}?{urlencode(query)}" if query else path
        try:
            code, data = await self._client.ask(url, method=method, body=body, headers={"Content-Type": content} if body else None)
        except WebhookError as error:
            raise ReplayError(f"the server does not answer: {error}") from error
        try:
            answer: Object = json_codec.loads(data)
        except ValueError:
            answer = {"message": data.decode(errors="replace").strip()}
        if not 200 <= code < 300:
            raise RefusedError(code, answer)
        return answer

    async def definition(self, name: str) -> Definition:
        """Return a definition as it is now."""
        return parse_definition(await self.ask("GET", f"{DEFINITIONS}/{quote(name)}"))

    async def patch_definition(self, name: str, patch: Object, *, subresource: str = "", dry_run: bool = False) -> None:
        """Merge a patch into a definition."""
        path = f"{DEFINITIONS}/{quote(name)}" + (f"/{subresource}" if subresource else "")
        query = {"fieldManager": MANAGER} | (_DRY_RUN if dry_run else {})
        await self.ask("PATCH", path, patch, content=MERGE_PATCH, query=query)

    async def pages(self, definition: Definition, version: str) -> AsyncGenerator[Sequence[Object]]:
        """Yield the objects in a version, in the order of their keys."""
        path, following = resource_path(definition.group, version, definition.names.plural), ""
        while True:
            answer = await self.ask("GET", path, query={"limit": _PAGE} | ({"continue": following} if following else {}))
            yield answer.get("items") or ()
            following = (answer.get("metadata") or {}).get("continue") or ""
            if not following:
                return

    async def get(self, definition: Definition, version: str, key: str) -> Object:
        """Return an object in a version."""
        return await self.ask("GET", object_path(definition, version, key))

    async def patch(self, definition: Definition, version: str, key: str, patch: Object) -> Object:
        """Merge a patch into an object."""
        return await self.ask("PATCH", object_path(definition, version, key), patch, content=MERGE_PATCH, query={"fieldManager": MANAGER})

    async def dry_apply(self, definition: Definition, version: str, key: str, config: Object, *, manager: str, subresource: str) -> Object:
        """Return the object as a server-side apply would make it, without force."""
        path = object_path(definition, version, key) + (f"/{subresource}" if subresource else "")
        return await self.ask("PATCH", path, config, content=APPLY_PATCH, query={"fieldManager": manager} | _DRY_RUN)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def object_path(definition: Definition, version: str, key: str) -> str:
    """Return the path of an object."""
    namespace, _, name = key.rpartition("/")
    root = f"/apis/{quote(definition.group)}/{quote(version)}"
    return (
        f"{root}/namespaces/{quote(namespace)}/{definition.names.plural}/{quote(name)}"
        if namespace
        else (f"{root}/{definition.names.plural}/{quote(name)}")
    )


async def for_each(keys: Iterable[str], act: Callable[[str], Awaitable[None]]) -> None:
    """Act on each key, many at once."""
    waiting = iter(keys)

    async def work() -> None:
        for key in waiting:
            await act(key)

    await asyncio.gather(*(work() for _ in range(_CONCURRENT)))
