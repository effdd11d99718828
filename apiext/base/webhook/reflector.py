"""Lists and watches a collection of another server (client-go tools/cache/reflector.go)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import orjson

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.pager import PAGE_SIZE, Pager, PageSize

if TYPE_CHECKING:
    from apiext.base.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
_MIN_PAUSE_SECONDS: Final = 0.8
_MAX_PAUSE_SECONDS: Final = 30.0
"""Seconds between attempts: doubled after each failure up to the maximum, and randomly extended up to twice as long."""
_MIN_WATCH: Final = 300
"""Minimum of seconds of a watch; the maximum is twice as long (client-go minWatchTimeout)."""
_WATCH_GRACE: Final = 30
"""Seconds in which a server may end a watch after its timeout."""
_MAX_SILENCE: Final = 90.0
"""Seconds without a byte after which the connection counts as broken: bookmarks arrive every minute. A server that is gone is noticed
earlier (transport.py)."""

Found = dict[str, Any]


class Follower(Protocol):
    """Receives the objects of a collection (client-go Store)."""

    def replaced(self, objects: Sequence[Found]) -> None:
        """Replace all objects: after the first list, and after each list due to missed events."""
        ...

    def changed(self, found: Found) -> None:
        """Add or update an object."""
        ...

    def deleted(self, found: Found) -> None:
        """Remove an object; `found` is its last state."""
        ...


class Link:
    """Hooks for the state of the connection; by default they do nothing."""

    logs_failures = False
    """Whether `lost` logs failures; otherwise the reflector does."""

    async def confirm(self) -> None:
        """Verify the server before each list and watch.

        Raises:
            WebhookError: the server must not be called.
        """

    def reached(self) -> None:
        """Handle a complete list, or the start of a watch."""

    def lost(self, error: WebhookError) -> None:
        """Handle a failed list or watch: the follower misses changes from now on."""


class Latest:
    """Passes on each state of an object, including the first; ignores deletions."""

    def __init__(self, changed: Callable[[Found], None]) -> None:
        self.changed = changed

    def replaced(self, objects: Sequence[Found]) -> None:
        """Pass on the listed objects."""
        for found in objects:
            self.changed(found)

    def deleted(self, found: Found) -> None:
        """Ignore the deletion."""


def single_object(collection: str, name: str) -> str:
    """Return the path of a collection with a field selector for one name."""
    return f"{collection}?fieldSelector={quote(f'metadata.name={name}', safe='')}"


class Reflector:
    """Lists a collection, watches it, and retries with backoff after each failure.

    After a connection error or a 429, the watch continues at its last revision. After any other error, a new list comes first.
    The path of the collection may have selectors. `reduce` strips each object right after reading it, so that a large list needs
    little memory (client-go TransformFunc).
    """

    def __init__(
        self,
        client: WebhookClient,
        collection: str,
        follower: Follower,
        *,
        link: Link | None = None,
        reduce: Callable[[Found], Found] = lambda found: found,
        page: int = PAGE_SIZE,
        min_pause: float = _MIN_PAUSE_SECONDS,
        max_pause: float = _MAX_PAUSE_SECONDS,
    ) -> None:
        self._client = client
        self._collection = collection
        self._url = f"{collection}{'&' if '?' in collection else '?'}"
        self._follower = follower
        self._link = link or Link()
        self._reduce = reduce
        self._pager = Pager(self._fetch, size=PageSize(first=page))
        self._backoff = Backoff(min_pause, max_pause)
        self._revision = ""
        """The revision where the next watch starts; empty for a list first."""

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                await self._link.confirm()
                if not self._revision:
                    objects, self._revision = await self._pager.list(self._collection)
                    self._follower.replaced(objects)
                    self._reached()
                if self._revision:
                    await self._watch()
            except WebhookError as error:
                self._failed(error)
            except Exception as error:  # noqa: BLE001 -- a bug in a follower must not end the watch for ever
                _LOG.exception("list or watch failed, retrying", url=self._url)
                self._revision = ""
                self._failed(WebhookError(str(error)))
            await asyncio.sleep(self._backoff.next * (1 + random.random()))  # noqa: S311 -- spreads load, guards nothing

    def _reached(self) -> None:
        self._backoff.reset()
        self._link.reached()

    def _failed(self, error: WebhookError) -> None:
        self._backoff.take()
        if error.code not in {0, HTTPStatus.TOO_MANY_REQUESTS}:
            self._revision = ""
        if not self._link.logs_failures:
            _LOG.warning("list or watch failed, retrying", url=self._url, error=str(error))
        self._link.lost(error)

    async def _fetch(self, path: str) -> tuple[Found, int]:
        page = await self._client.get(path)
        page["items"] = list(map(self._reduce, page.get("items") or ()))
        return page, 0

    async def _watch(self) -> None:
        """Pass on changes until the watch ends. Raises WebhookError."""
        seconds = random.randint(_MIN_WATCH, 2 * _MIN_WATCH)  # noqa: S311 -- as above
        query = f"watch=true&allowWatchBookmarks=true&resourceVersion={quote(self._revision)}&timeoutSeconds={seconds}"
        async with self._client.lines(f"{self._url}{query}", longest=seconds + _WATCH_GRACE, silence=_MAX_SILENCE) as lines:
            self._reached()
            async for line in lines:
                event = _event(line)
                kind, found = event.get("type"), event.get("object") or {}
                if kind == "ERROR":
                    _LOG.info("watch ended by the server", url=self._url, error=found.get("message", ""))
                    self._revision = ""
                    return
                if kind in {"ADDED", "MODIFIED"}:
                    self._follower.changed(found)
                elif kind == "DELETED":
                    self._follower.deleted(found)
                self._revision = (found.get("metadata") or {}).get("resourceVersion") or self._revision


def _event(line: bytes) -> Found:
    try:
        event = orjson.loads(line)
    except ValueError as error:
        raise WebhookError("invalid JSON in a watch") from error
    if not isinstance(event, dict):
        raise WebhookError("a watch event is not an object")
    return event
