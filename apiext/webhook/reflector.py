"""One object of another server, followed through its changes (client-go tools/cache/reflector.go)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final
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

Change = Callable[[dict[str, Any]], None]


class Reflector:
    """Lists the object by its name and watches it; begins anew, later and later, where something goes wrong.

    `changed` is called with each state of the object, the first one included; an object that goes away stays as it was.
    """

    def __init__(self, client: WebhookClient, collection: str, name: str, changed: Change, *, shortest: float = _SHORTEST) -> None:
        self._client = client
        self._url = f"{collection}?fieldSelector={quote(f'metadata.name={name}', safe='')}"
        self._changed = changed
        self._shortest = shortest

    async def run(self) -> None:
        """Follow the object until it is cancelled."""
        wait = self._shortest
        while True:
            try:
                revision = await self._list()
                wait = self._shortest
                while revision:
                    revision = await self._watch(revision)
                    await self._pause(self._shortest)
            except WebhookError as error:
                _LOG.warning("an object of the cluster cannot be followed", url=self._url, error=str(error))
            await self._pause(wait)
            wait = min(wait * 2, _LONGEST)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * (1 + random.random()))  # noqa: S311 -- spreads load, guards nothing

    async def _list(self) -> str:
        """Tell the object as it is; the revision of the list."""
        found = await self._client.get(self._url)
        for item in found.get("items") or ():
            self._changed(item)
        return str((found.get("metadata") or {}).get("resourceVersion") or "")

    async def _watch(self, revision: str) -> str:
        """Tell changes until the watch ends; the revision to go on from, empty where it has to begin with a list."""
        seconds = random.randint(_WATCH, 2 * _WATCH)  # noqa: S311 -- as above
        url = f"{self._url}&watch=true&allowWatchBookmarks=true&resourceVersion={quote(revision)}&timeoutSeconds={seconds}"
        async with aclosing(self._client.lines(url, timeout=seconds + _GRACE)) as lines:
            async for line in lines:
                event = _event(line)
                found = event.get("object") or {}
                if event.get("type") == "ERROR":
                    _LOG.info("a watch of the cluster ended", url=self._url, error=found.get("message", ""))
                    return ""
                revision = (found.get("metadata") or {}).get("resourceVersion") or revision
                if event.get("type") in {"ADDED", "MODIFIED"}:
                    self._changed(found)
        return revision


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(line)
    except ValueError as error:
        raise WebhookError("a watch brought what is no JSON") from error
    if not isinstance(event, dict):
        raise WebhookError("a watch brought what is no event")
    return event
