"""The objects of a definition, as a server lists them page by page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.base.webhook.pager import Pager, PageSize
from apiext.operator.adoption.polling import retry_on_codes
from apiext.operator.adoption.store_diff import StoredObject, stored_object
from apiext.operator.api_clients import ApiClient, ApiError, Json

_PAGE_SIZE: Final = PageSize(first=100, max=1000, target_bytes=4_000_000)
_RETRIED_CODES: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
"""Responses of a server that is starting to serve the resource, or is overloaded."""
_NOWHERE: Final = "apiext-routing-probe"
"""The name of a namespace and of a cluster-scoped object that no client creates."""
OnPage = Callable[[int, int], None]
"""Called after each page with the number of listed objects and of all objects."""


@dataclass(frozen=True, slots=True)
class AdoptedResource:
    """The instances of a definition, in the version for lists, comparisons and copies.

    This is the storage version if it is served, so that both stores hold the same bytes.
    """

    definition: str
    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def path(self) -> str:
        """The path of all instances."""
        return f"/apis/{self.group}/{self.version}/{self.plural}"

    @property
    def empty_list(self) -> str:
        """The path of an empty list: servers answer it without a conversion webhook."""
        if self.namespaced:
            return f"/apis/{self.group}/{self.version}/namespaces/{_NOWHERE}/{self.plural}?limit=1"
        return f"{self.path}?limit=1&fieldSelector=metadata.name%3D{_NOWHERE}"


def resource(crd: Json) -> AdoptedResource | None:
    """Return the resource of a definition, preferably in the storage version; None if no version is served."""
    served = [version for version in crd["spec"]["versions"] if version.get("served")]
    if not served:
        return None
    return resource_in(next((version for version in served if version.get("storage")), served[0])["name"], crd)


def resource_in(version: str, crd: Json) -> AdoptedResource:
    """Return the resource of a definition in a version."""
    spec = crd["spec"]
    return AdoptedResource(crd["metadata"]["name"], spec["group"], version, spec["names"]["plural"], spec["scope"] == "Namespaced")


async def is_by_apiext(host: ApiClient, of: AdoptedResource) -> bool:
    """Return whether the host proxies requests of a resource to apiext instead of using its own store. Raises ApiError."""
    page, _size = await _fetch(host, of.empty_list)
    return int(page["metadata"].get("resourceVersion") or 0) >= REVISION_BASE


async def check_conversion(api: ApiClient, of: AdoptedResource) -> None:
    """Check that a server can list an object in the version of a resource. Raises ApiError."""
    await _fetch(api, f"{of.path}?limit=1")


def no_progress(_done: int, _total: int) -> None:
    """Report nothing."""


async def list_objects(
    api: ApiClient, of: AdoptedResource, *, below: int = 0, at: int = 0, progress: OnPage = no_progress
) -> AsyncGenerator[StoredObject, None]:
    """Yield all objects in the order of their keys, at one revision unless the server compacts it meanwhile.

    With `at`, they are those of a former revision.
    A list with a resourceVersion from `below` on is an error: the host has proxied the request to apiext.

    Raises:
        ApiError: a page cannot be read.
    """
    done = 0
    moment = f"&resourceVersion={at}&resourceVersionMatch=Exact" if at else ""

    async def fetch(path: str) -> tuple[Json, int]:
        return await _fetch(api, path if "continue=" in path else f"{path}{moment}")

    async for page in Pager(fetch, size=_PAGE_SIZE, continue_expired=not at).pages(of.path):
        if below and int(page.resource_version or 0) >= below:
            raise ApiError(f"the host already proxies {of.path} to apiext: the objects in its own store cannot be read")
        done += len(page.items)
        progress(done, done + page.remaining)
        for item in page.items:
            yield stored_object(item)


async def _fetch(api: ApiClient, path: str) -> tuple[Json, int]:
    """Return a list and its size in bytes; the list may be the Status that replaces an expired continue token. Raises ApiError."""
    return await retry_on_codes(lambda: _fetch_once(api, path), codes=_RETRIED_CODES)


async def _fetch_once(api: ApiClient, path: str) -> tuple[Json, int]:
    code, data = await api.request("GET", path)
    try:
        answer = json_codec.loads(data)
    except ValueError:
        answer = None
    found = answer if isinstance(answer, dict) else {}
    token = (found.get("metadata") or {}).get("continue")
    if (code != HTTPStatus.OK or not found) and not (code == HTTPStatus.GONE and token):
        raise api.status_error("GET", path, code, data)
    return found, len(data)
