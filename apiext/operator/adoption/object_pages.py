"""The objects of a definition as a server lists them, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from apiext.meta import json_codec
from apiext.meta.host_annotations import REVISION_BASE
from apiext.operator.adoption.polling import patiently
from apiext.operator.adoption.store_diff import Held, held
from apiext.operator.api_clients import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from apiext.operator.api_clients import Api, Json

_FIRST: Final = 100
_MOST: Final = 1000
_BYTES: Final = 4_000_000
"""About what a page should have; how many objects that is, the page before tells."""
_GONE: Final = 410
_AGAIN: Final = frozenset({429, 503})
"""A server that begins to serve the resource, or has others to answer first."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The instances of a definition, in a version in which they can be listed."""

    definition: str
    group: str
    version: str
    plural: str
    stored: str
    """The version in which they are stored."""

    @property
    def path(self) -> str:
        """Where all of them are."""
        return f"/apis/{self.group}/{self.version}/{self.plural}"

    @property
    def api_version(self) -> str:
        """That of what is stored."""
        return f"{self.group}/{self.stored}"


def resource(crd: Json) -> Resource | None:
    """The resource of a definition, if possible in the version that is stored; None where no version is served."""
    spec = crd["spec"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    served = [version["name"] for version in spec["versions"] if version.get("served")]
    if not served:
        return None
    version = stored if stored in served else served[0]
    return Resource(crd["metadata"]["name"], spec["group"], version, spec["names"]["plural"], stored)


class Collection:
    """The instances on one server. Those that it lists are of its `contents`, all in the version that is stored."""

    def __init__(self, api: Api, of: Resource, *, below: int = 0, progress: Callable[[int, int], Any] = lambda _done, _total: None) -> None:
        """`progress` is told after each page how many objects have come, of how many.

        A list with a resourceVersion of `below` or more is from somebody else than who was to be asked, and is not taken.
        """
        self._api = api
        self._of = of
        self._below = below
        self._progress = progress

    async def revision(self) -> int:
        """The resourceVersion of a list, which tells who has answered. Raises ApiError."""
        page, _size = await self._page(f"{self._of.path}?limit=1")
        return int(page["metadata"].get("resourceVersion") or 0)

    async def is_by_apiext(self) -> bool:
        """Whether apiext answers here, and not the host out of its own store. Raises ApiError."""
        return await self.revision() >= REVISION_BASE

    async def objects(self) -> AsyncGenerator[Held, None]:
        """All objects in the order of their keys, as they were at one moment unless reading them takes many minutes.

        Raises:
            ApiError: a page cannot be had.
        """
        limit, token, done = _FIRST, "", 0
        while True:
            page, size = await self._page(f"{self._of.path}?limit={limit}{f'&continue={quote(token)}' if token else ''}")
            metadata = page["metadata"]
            if page.get("code") == _GONE:
                # the moment has been compacted away: the answer tells how to go on at another one
                token = metadata["continue"]
                continue
            if self._below and int(metadata.get("resourceVersion") or 0) >= self._below:
                raise ApiError(f"the host proxies {self._of.path} to apiext already: what its own store has cannot be read")
            items = page.get("items") or []
            done += len(items)
            self._progress(done, done + (metadata.get("remainingItemCount") or 0))
            for item in items:
                yield held(item, self._of.api_version)
            token = metadata.get("continue") or ""
            if not token:
                return
            limit = min(_MOST, max(1, _BYTES * len(items) // size))

    async def _page(self, path: str) -> tuple[Json, int]:
        """A list, or the Status that has a token to go on with, and its size. Raises ApiError."""
        return await patiently(lambda: self._once(path), codes=_AGAIN)

    async def _once(self, path: str) -> tuple[Json, int]:
        code, data = await self._api.ask("GET", path)
        try:
            answer = json_codec.loads(data)
        except ValueError:
            answer = None
        said = answer if isinstance(answer, dict) else {}
        token = (said.get("metadata") or {}).get("continue")
        if (code != 200 or not said) and not (code == _GONE and token):
            raise self._api.refusal("GET", path, code, data)
        return said, len(data)
