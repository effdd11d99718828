"""Reads a collection of another server page by page (client-go tools/pager/pager.go)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from apiext.base.webhook.client import WebhookError

Json = dict[str, Any]

Fetch = Callable[[str], Awaitable[tuple[Json, int]]]
"""Sends a GET of a path with its query; returns the JSON answer and its size in bytes.

It raises its own error if the answer is not a list. With `continue_expired` it returns the Status of a 410 with
`metadata.continue`. It owns retries, time limits and the JSON decoder.
"""

PAGE_SIZE: Final = 500
"""Objects a page (client-go pager, defaultPageSize)."""


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list."""

    items: list[Json]
    resource_version: str
    """The revision of the list; it may be later on pages after an expired token."""
    remaining: int
    """The number of objects on later pages, 0 if the server does not count them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSize:
    """The limit of each page, in objects."""

    first: int = PAGE_SIZE
    max: int = PAGE_SIZE
    target_bytes: int = 0
    """The intended bytes of a page; the previous page determines the bytes per object. With 0, all pages have `first` objects."""

    def after(self, items: int, size: int) -> int:
        """Return the limit of the next page, after a page of `items` objects and `size` bytes."""
        if not self.target_bytes:
            return self.first
        return min(self.max, max(1, self.target_bytes * items // max(1, size)))


class Pager:
    """Lists collections with `limit` and `continue`.

    A continue token expires when the store compacts its revision: the server answers 410. Then the list fails or, with
    `continue_expired`, continues from the same key at the newest revision, with the token of the 410.
    """

    def __init__(self, fetch: Fetch, *, size: PageSize | None = None, continue_expired: bool = False) -> None:
        self._fetch = fetch
        self._size = size or PageSize()
        self._continue_expired = continue_expired

    async def pages(self, collection: str) -> AsyncGenerator[Page, None]:
        """Yield the pages of a collection, also an empty first one. The path may have a query.

        Raises:
            WebhookError: the server answered 410, and the list cannot continue.
            Exception: what `fetch` raises.
        """
        url = f"{collection}{'&' if '?' in collection else '?'}"
        limit, token = self._size.first, ""
        while True:
            answer, size = await self._fetch(f"{url}limit={limit}{f'&continue={quote(token)}' if token else ''}")
            metadata = answer.get("metadata") or {}
            token = str(metadata.get("continue") or "")
            if answer.get("kind") == "Status" and answer.get("code") == HTTPStatus.GONE:
                if not self._continue_expired or not token:
                    raise WebhookError(str(answer.get("message") or "the continue token expired"), code=HTTPStatus.GONE)
                continue
            items = answer.get("items") or []
            yield Page(items, str(metadata.get("resourceVersion") or ""), metadata.get("remainingItemCount") or 0)
            if not token:
                return
            limit = self._size.after(len(items), size)

    async def list(self, collection: str) -> tuple[list[Json], str]:
        """Return all objects of a collection and the resourceVersion of the last page.

        Raises:
            WebhookError: as `pages`.
            Exception: what `fetch` raises.
        """
        items: list[Json] = []
        resource_version = ""
        async for page in self.pages(collection):
            items += page.items
            resource_version = page.resource_version
        return items, resource_version
