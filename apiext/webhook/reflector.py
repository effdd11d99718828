"""Objects of another server, followed through their changes (client-go tools/cache/reflector.go)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import orjson

from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger
from apiext.webhook.client import WebhookError

if TYPE_CHECKING:
    from apiext.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
_SHORTEST: Final = 0.8
_LONGEST: Final = 30.0
"""Seconds between attempts: twice as many after each that fails, from the first to the second; and up to twice of that, by chance."""
_WATCH: Final = 300
"""Least seconds of a watch; the most are twice as many."""
_GRACE: Final = 30
"""Seconds after which a watch is given up that the server should have ended."""
_SILENCE: Final = 150.0
"""Seconds without a byte after which nobody is taken to be there any more: bookmarks come every minute."""
_PAGE: Final = 500
"""Objects of a list at once."""
_TOO_MANY: Final = 429

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


class Link:
    """The way to the server, for who wants to know about it; for all others it is as good as any."""

    async def confirm(self) -> None:
        """Before each list and each watch: whether the server is the one that is meant. Raises WebhookError where it is not."""

    def reached(self) -> None:
        """A list is complete, or a watch has begun."""

    def lost(self, error: WebhookError) -> None:
        """Nothing is known of what happens from now on."""


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
    """Lists a collection and watches it; tries again, later and later, where something goes wrong.

    Where the server could not be reached, or asks for patience, the watch goes on where it was; else a list comes first.
    The address of the collection may have selectors. `reduce` has the followers of large collections keep what they need
    of an object while the other pages of a list are read.
    """

    def __init__(
        self,
        client: WebhookClient,
        collection: str,
        follower: Follower,
        *,
        link: Link | None = None,
        reduce: Callable[[Found], Found] | None = None,
        page: int = _PAGE,
        shortest: float = _SHORTEST,
        longest: float = _LONGEST,
    ) -> None:
        self._client = client
        self._url = f"{collection}{'&' if '?' in collection else '?'}"
        self._follower = follower
        self._link = link or Link()
        self._reduce = reduce or _whole
        self._page = page
        self._backoff = Backoff(shortest, longest)
        self._revision = ""
        """Where a watch begins; empty where a list has to come first."""

    async def run(self) -> None:
        """Follow the collection until it is cancelled."""
        while True:
            try:
                await self._link.confirm()
                if not self._revision:
                    self._revision = await self._list()
                    self._reached()
                if self._revision:
                    await self._watch()
            except WebhookError as error:
                self._failed(error)
            except Exception as error:  # noqa: BLE001 -- it must be followed for as long as the server runs
                _LOG.exception("objects of the cluster cannot be followed", url=self._url)
                self._revision = ""
                self._failed(WebhookError(str(error)))
            await self._pause()

    def _reached(self) -> None:
        self._backoff.reset()
        self._link.reached()

    def _failed(self, error: WebhookError) -> None:
        self._backoff.take()
        if error.code not in {0, _TOO_MANY}:
            self._revision = ""
        _LOG.warning("objects of the cluster cannot be followed", url=self._url, error=str(error))
        self._link.lost(error)

    async def _pause(self) -> None:
        await asyncio.sleep(self._backoff.next * (1 + random.random()))  # noqa: S311 -- spreads load, guards nothing

    async def _list(self) -> str:
        """Tell all objects as they are; the revision of the list."""
        objects: list[Found] = []
        token = ""
        while True:
            page = await self._client.get(f"{self._url}limit={self._page}{f'&continue={quote(token)}' if token else ''}")
            objects += map(self._reduce, page.get("items") or ())
            metadata = page.get("metadata") or {}
            token = str(metadata.get("continue") or "")
            if not token:
                self._follower.replaced(objects)
                return str(metadata.get("resourceVersion") or "")

    async def _watch(self) -> None:
        """Tell changes until the watch ends."""
        seconds = random.randint(_WATCH, 2 * _WATCH)  # noqa: S311 -- as above
        query = f"watch=true&allowWatchBookmarks=true&resourceVersion={quote(self._revision)}&timeoutSeconds={seconds}"
        async with self._client.lines(f"{self._url}{query}", longest=seconds + _GRACE, silence=_SILENCE) as lines:
            self._reached()
            async for line in lines:
                event = _event(line)
                kind, found = event.get("type"), event.get("object") or {}
                if kind == "ERROR":
                    _LOG.info("a watch of the cluster ended", url=self._url, error=found.get("message", ""))
                    self._revision = ""
                    return
                if kind in {"ADDED", "MODIFIED"}:
                    self._follower.changed(found)
                elif kind == "DELETED":
                    self._follower.deleted(found)
                self._revision = (found.get("metadata") or {}).get("resourceVersion") or self._revision


def _whole(found: Found) -> Found:
    return found


def _event(line: bytes) -> Found:
    try:
        event = orjson.loads(line)
    except ValueError as error:
        raise WebhookError("a watch brought what is no JSON") from error
    if not isinstance(event, dict):
        raise WebhookError("a watch brought what is no event")
    return event
