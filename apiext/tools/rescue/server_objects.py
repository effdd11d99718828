"""Stored objects of a running server, through its paths below `/stored/`."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from apiext.base.meta.encoding import json_codec
from apiext.base.webhook.client import WebhookError
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.resources.stored_objects.interface import RescueError
from apiext.storage.backend import KeyValue
from apiext.storage.stored_object import UnreadableObject
from apiext.tools.releases.cluster_connection import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.client import WebhookClient
    from apiext.resources.definitions.definition import Definition


class ServerObjects:
    """Implements StoredObjects with a client of the server."""

    def __init__(self, client: WebhookClient) -> None:
        self._client = client

    async def definitions(self) -> Sequence[Definition]:
        """Implement StoredObjects.definitions."""
        found: list[Definition] = []
        following = ""
        while True:
            page = await self._ask("GET", DEFINITIONS, {"limit": "100", "continue": following})
            found += map(parse_definition, page["items"])
            following = page["metadata"].get("continue", "")
            if not following:
                return found

    async def unreadable(self, definition: Definition) -> AsyncGenerator[UnreadableObject]:
        """Implement StoredObjects.unreadable."""
        async for one in self._items(f"/stored/unreadable/{definition.name}"):
            yield UnreadableObject(one["key"], int(one["resourceVersion"]), one["size"], one["apiVersion"], one["message"])

    async def unconvertible(self, definition: Definition) -> AsyncGenerator[tuple[str, str]]:
        """Implement StoredObjects.unconvertible."""
        if definition.conversion_strategy != "Webhook":
            return
        unreadable = {found.key async for found in self.unreadable(definition)}
        async for one in self._items(f"/stored/invalid/{definition.name}"):
            if one["state"] == "undecodable" and one["key"] not in unreadable:
                yield one["key"], one["message"]

    async def problem(self, definition: Definition, key: str) -> str:
        """Implement StoredObjects.problem."""
        page = await self._ask("GET", f"/stored/unreadable/{definition.name}", {"key": key})
        return str(page["items"][0]["message"]) if page["items"] else ""

    async def all(self, definition: Definition) -> AsyncGenerator[tuple[str, KeyValue]]:
        """Implement StoredObjects.all."""
        async for one in self._items(f"/stored/objects/{definition.name}"):
            pair = await self.get(definition, one["key"])
            if pair is not None:
                yield one["key"], pair

    async def get(self, definition: Definition, key: str) -> KeyValue | None:
        """Implement StoredObjects.get."""
        try:
            found = await self._ask("GET", _object_path(definition, key))
        except _NotFoundError:
            return None
        try:
            return KeyValue(key, base64.b64decode(found["data"], validate=True), int(found["resourceVersion"]))
        except binascii.Error as error:
            raise RescueError(f"the server's answer about {key} is invalid: {error}") from error

    async def replace(self, definition: Definition, key: str, data: bytes, *, revision: int, encode: bool) -> int:
        """Implement StoredObjects.replace."""
        query = {"resourceVersion": str(revision)} | ({"encode": "true"} if encode else {})
        return int((await self._ask("PUT", _object_path(definition, key), query, data))["resourceVersion"])

    async def delete(self, definition: Definition, key: str, *, revision: int) -> None:
        """Implement StoredObjects.delete."""
        await self._ask("DELETE", _object_path(definition, key), {"resourceVersion": str(revision)})

    async def reencrypt(self) -> tuple[int, int, list[str]]:
        """Have the server write all values again that need it. Return the number of examined ones, of written ones, and unreadable keys.

        Raises:
            RescueError: the server does not answer, or refuses.
        """
        examined, written, unreadable, following = 0, 0, list[str](), ""
        while True:
            page = await self._ask("POST", "/stored/reencrypt", {"continue": following})
            examined, written = examined + page["examined"], written + page["written"]
            unreadable += page["unreadable"]
            following = page["continue"]
            if not following:
                return examined, written, unreadable

    async def close(self) -> None:
        """Implement StoredObjects.close."""
        await self._client.close()

    async def _items(self, path: str) -> AsyncGenerator[Object]:
        following = ""
        while True:
            page = await self._ask("GET", path, {"continue": following})
            for item in page["items"]:
                yield item
            following = page.get("continue", "")
            if not following:
                return

    async def _ask(self, method: str, path: str, query: dict[str, str] | None = None, body: bytes | None = None) -> Any:
        """Return the JSON answer. Raises RescueError."""
        given = {name: text for name, text in (query or {}).items() if text}
        try:
            code, data = await self._client.ask(f"{path}?{urlencode(given)}" if given else path, method=method, body=body)
        except WebhookError as error:
            raise RescueError(str(error)) from error
        try:
            answer = json_codec.loads(data)
        except ValueError as error:
            if code == 404:
                raise RescueError(f"the server has no {path}: --server must name apiext's own address") from error
            raise RescueError(f"the server's answer with code {code} to {path} is invalid") from error
        if 200 <= code < 300 and isinstance(answer, dict):
            return answer
        message = str(answer.get("message") if isinstance(answer, dict) else answer)
        raise (_NotFoundError if code == 404 else RescueError)(message)


class _NotFoundError(RescueError):
    """The server does not have the object."""


def _object_path(definition: Definition, key: str) -> str:
    return f"/stored/objects/{definition.name}/{quote(key)}"
