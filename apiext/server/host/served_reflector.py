"""Follows a resource that the host may not serve yet, or serves no more."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.errors import StatusError
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.webhook.reflector import Link, Reflector

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.base.webhook.client import WebhookClient, WebhookError
    from apiext.base.webhook.reflector import Follower, Found
    from apiext.server.host.discovery import HostResource

_LOG: Final = get_logger(__name__)
_MIN_PAUSE: Final = 1.0
"""Seconds before a resource that was not found is looked for again, as upstream's interval of refreshing policies."""
_MAX_PAUSE: Final = 30.0
_MAX_RETRY: Final = 2.0
"""Seconds between attempts to list and watch, or twice as many. A host that is back must not enforce for long what apiext does not know."""
_PAGE_SIZE: Final = 100
"""Objects of a page: they may have some kilobytes each, and the event loop parses a page at once."""


class _NotServedError(Exception):
    """The host does not serve the resource any more."""


class _WhileServed(Link):
    """Ends the reflector when the host answers 404, and logs each failure once: it is tried again every few seconds."""

    logs_failures = True

    def __init__(self, what: str) -> None:
        self._what = what
        self._logged = ""

    def reached(self) -> None:
        """Log that the host answers again."""
        if self._logged:
            self._logged = ""
            _LOG.info("list or watch succeeds again", what=self._what)

    def lost(self, error: WebhookError) -> None:
        """Log a failure that is new. Raise _NotServedError after a 404."""
        if error.code == HTTPStatus.NOT_FOUND:
            raise _NotServedError
        if str(error) != self._logged:
            self._logged = str(error)
            _LOG.warning(
                "list or watch failed, retrying; writes are refused before the first list",
                what=self._what,
                error=self._logged,
            )


class ServedReflector:
    """Finds a resource with discovery and follows its objects; begins again when the host does not serve it any more."""

    def __init__(
        self,
        client: WebhookClient,
        find: Callable[[], Awaitable[HostResource | None]],
        follower: Follower,
        *,
        what: str,
        absent: Callable[[], None] = lambda: None,
        reduce: Callable[[Found], Found] = lambda found: found,
        max_pause: float = _MAX_PAUSE,
    ) -> None:
        """Create a reflector of the resource that `find` returns. Call `absent` when the host serves none. `what` names it in the log."""
        self._client = client
        self._find = find
        self._follower = follower
        self._what = what
        self._absent = absent
        self._reduce = reduce
        self._backoff = Backoff(_MIN_PAUSE, max_pause)
        self._wanted = asyncio.Event()
        self._link = _WhileServed(what)
        self.resource: HostResource | None = None
        """The resource that is followed."""

    async def run(self) -> None:
        """Follow the objects until cancelled."""
        while True:
            await self._follow()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._backoff.take()):
                    await self._wanted.wait()

    def look_again(self) -> None:
        """Look for the resource at once: the host may serve it now."""
        self._wanted.set()

    async def _follow(self) -> None:
        self._wanted.clear()
        try:
            found = await self._find()
        except StatusError as error:
            _LOG.warning("discovery of the host failed, retrying", what=self._what, error=error.message)
            return
        if found is None:
            _LOG.info("the host does not serve the resource", what=self._what)
            self._absent()
            return
        self.resource = found
        self._backoff.reset()
        try:
            await self._reflector(found).run()
        except _NotServedError:
            _LOG.info("the host does not serve the resource any more", what=self._what)
        finally:
            self.resource = None

    def _reflector(self, resource: HostResource) -> Reflector:
        settings: dict[str, Any] = {"link": self._link, "reduce": self._reduce, "page": _PAGE_SIZE, "max_pause": _MAX_RETRY}
        return Reflector(self._client, resource.collection, self._follower, **settings)
