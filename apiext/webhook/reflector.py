"""Objects of another server, followed through their changes (client-go tools/cache/reflector.go)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import orjson

from apiext.meta.log import get_logger
from apiext.webhook.client import WebhookError

if TYPE_CHECKING:
    from apiext.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
_SHORTEST: Final = 0.8
_LONGEST: Final = 30.0
"""Seconds between attempts: twice as many after each that fails, from the first to the second."""
_WATCH: Final = 300
"""Least seconds of a watch; the most are twice as many."""
_GRACE: Final = 30
"""Seconds after which a watch is given up that the server should have ended."""

_PAGE: Final = 500
"""Objects of a list at once."""

Found = dict[str, Any]


class Follower(Protocol):
    """Is told of the objects."""

    def replaced(self, objects: Sequence[Found]) -> None:
        """These are all that there are: at the beginning, and where changes have been missed."""
        ...

    def changed(self, found: Found) -> None:
        """An object is new, or not what it was."""
        ...

    def deleted(self, found: Found) -> None:
        """An object has gone; this is its last state."""
        ...


class Latest:
    """Hands each state of an object on, the first one included; an object that goes away stays as it was."""

    def __init__(self, changed: Callable[[Found], None]) -> None:
        self.changed = changed

    def replaced(self, objects: Sequence[Found]) -> None:
        """The object as it is listed."""
        for found in objects:
            self.changed(found)

    def deleted(self, found: Found) -> None:
        """Leave it as it was."""


def only(collection: str, name: str) -> str:
    """The address of a collection that holds no other object than the one of that name."""
    return f"{collection}?fieldSelector={quote(f'metadata.name={name}', safe='')}"


class Reflector:
    """Lists a collection and watches it; begins anew, later and later, where something goes wrong.

    The address of the collection may have selectors.
    """

    def __init__(self, client: WebhookClient, collection: str, follower: Follower, *, shortest: float = _SHORTEST) -> None:
        self._client = client
        self._url = f"{collection}{'&' if '?' in collection else '?'}"
        self._follower = follower
        self._shortest = shortest

    async def run(self) -> None:
        """Follow the collection until it is cancelled."""
        wait = self._shortest
        while True:
            try:
                revision = await self._list()
                wait = self._shortest
                while revision:
                    revision = await self._watch(revision)
                    await self._pause(self._shortest)
            except WebhookError as error:
                _LOG.warning("objects of the cluster cannot be followed", url=self._url, error=str(error))
            await self._pause(wait)
            wait = min(wait * 2, _LONGEST)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * (1 + random.random()))  # noqa: S311 -- spreads load, guards nothing

    async def _list(self) -> str:
        """Tell all objects as they are; the revision of the list."""
        objects: list[Found] = []
        token = ""
        while True:
            page = await self._client.get(f"{self._url}limit={_PAGE}{f'&continue={quote(token)}' if token else ''}")
            objects += page.get("items") or ()
            metadata = page.get("metadata") or {}
            token = str(metadata.get("continue") or "")
            if not token:
                self._follower.replaced(objects)
                return str(metadata.get("resourceVersion") or "")

    async def _watch(self, revision: str) -> str:
        """Tell changes until the watch ends; the revision to go on from, empty where it has to begin with a list."""
        seconds = random.randint(_WATCH, 2 * _WATCH)  # noqa: S311 -- as above
        url = f"{self._url}watch=true&allowWatchBookmarks=true&resourceVersion={quote(revision)}&timeoutSeconds={seconds}"
        async with aclosing(self._client.lines(url, timeout=seconds + _GRACE)) as lines:
            async for line in lines:
                event = _event(line)
                kind, found = event.get("type"), event.get("object") or {}
                if kind == "ERROR":
                    _LOG.info("a watch of the cluster ended", url=self._url, error=found.get("message", ""))
                    return ""
                revision = (found.get("metadata") or {}).get("resourceVersion") or revision
                if kind in {"ADDED", "MODIFIED"}:
                    self._follower.changed(found)
                elif kind == "DELETED":
                    self._follower.deleted(found)
        return revision


def _event(line: bytes) -> Found:
    try:
        event = orjson.loads(line)
    except ValueError as error:
        raise WebhookError("a watch brought what is no JSON") from error
    if not isinstance(event, dict):
        raise WebhookError("a watch brought what is no event")
    return event
