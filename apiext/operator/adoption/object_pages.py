"""The objects of a definition, as a server lists them page by page."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import json_codec
from apiext.meta.host_annotations import REVISION_BASE
from apiext.operator.adoption.polling import retry_on_codes
from apiext.operator.adoption.store_diff import StoredObject, stored_object
from apiext.operator.api_clients import ApiError
from apiext.webhook.pager import Pager, PageSize

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from apiext.operator.api_clients import ApiClient, Json

_PAGE_SIZE: Final = PageSize(first=100, max=1000, target_bytes=4_000_000)
_RETRIED_CODES: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
"""Responses of a server that is starting to serve the resource, or is overloaded."""


@dataclass(frozen=True, slots=True)
class AdoptedResource:
    """The instances of a definition, in a version in which they can be listed."""

    definition: str
    group: str
    version: str
    plural: str
    storage_version: str

    @property
    def path(self) -> str:
        """The path of all instances."""
        return f"/apis/{self.group}/{self.version}/{self.plural}"

    @property
    def api_version(self) -> str:
        """The apiVersion of the stored objects."""
        return f"{self.group}/{self.storage_version}"


def resource(crd: Json) -> AdoptedResource | None:
    """Return the resource of a definition, preferably in the storage version; None if no version is served."""
    spec = crd["spec"]
    storage_version = next(version["name"] for version in spec["versions"] if version.get("storage"))
    served = [version["name"] for version in spec["versions"] if version.get("served")]
    if not served:
        return None
    version = storage_version if storage_version in served else served[0]
    return AdoptedResource(crd["metadata"]["name"], spec["group"], version, spec["names"]["plural"], storage_version)


class ObjectLister:
    """Lists the instances of a definition on one server, converted to the storage version."""

    def __init__(
        self, api: ApiClient, of: AdoptedResource, *, below: int = 0, progress: Callable[[int, int], Any] = lambda _done, _total: None
    ) -> None:
        """Call `progress` after each page with the number of listed objects and of all objects.

        A list with a resourceVersion of `below` or more is an error: the host has proxied the request to apiext.
        """
        self._api = api
        self._of = of
        self._below = below
        self._progress = progress

    async def is_by_apiext(self) -> bool:
        """Return whether apiext answers here, and not the host from its own store. Raises ApiError."""
        page, _size = await self._fetch(f"{self._of.path}?limit=1")
        return int(page["metadata"].get("resourceVersion") or 0) >= REVISION_BASE

    async def objects(self) -> AsyncGenerator[StoredObject, None]:
        """Yield all objects in the order of their keys, at one revision unless the server compacts it meanwhile.

        Raises:
            ApiError: a page cannot be read.
        """
        done = 0
        async for page in Pager(self._fetch, size=_PAGE_SIZE, continue_expired=True).pages(self._of.path):
            if self._below and int(page.resource_version or 0) >= self._below:
                raise ApiError(f"the host proxies {self._of.path} to apiext already: what its own store has cannot be read")
            done += len(page.items)
            self._progress(done, done + page.remaining)
            for item in page.items:
                yield stored_object(item, self._of.api_version)

    async def _fetch(self, path: str) -> tuple[Json, int]:
        """Return a list, or the Status of an expired continue token that has a new one, and its size in bytes. Raises ApiError."""
        return await retry_on_codes(lambda: self._fetch_once(path), codes=_RETRIED_CODES)

    async def _fetch_once(self, path: str) -> tuple[Json, int]:
        code, data = await self._api.request("GET", path)
        try:
            answer = json_codec.loads(data)
        except ValueError:
            answer = None
        found = answer if isinstance(answer, dict) else {}
        token = (found.get("metadata") or {}).get("continue")
        if (code != HTTPStatus.OK or not found) and not (code == HTTPStatus.GONE and token):
            raise self._api.status_error("GET", path, code, data)
        return found, len(data)
