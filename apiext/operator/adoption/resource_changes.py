"""What has changed at a server since its objects were listed, so that the last copy of a move need not read all of them again.

Behaviour of kube-apiserver 1.37, as read in its watch cache and measured, and of apiext: a watch begins with the events since its
resourceVersion, and in the last two seconds before its timeout gets a bookmark each second, at the revision that the cache has reached. A
list makes the cache reach the revision of the store. So after a list at revision R, a watch whose bookmark says R or more has delivered
all changes up to R.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final, cast

import orjson

from apiext.base.webhook.client import WebhookError
from apiext.operator.adoption.object_pages import AdoptedResource
from apiext.operator.adoption.store_diff import Difference, stored_object
from apiext.operator.api_clients import ApiClient, Json

_SECONDS: Final = 3
"""Length of a watch. Its first bookmark comes after one second, or two."""
_SPARE_SECONDS: Final = 30.0
"""Seconds in which a busy server may answer later."""
_DELETED: Final = "DELETED"
_BOOKMARK: Final = "BOOKMARK"
_ERROR: Final = "ERROR"


class MissedChangesError(Exception):
    """The server does not tell all changes any more: its objects have to be listed again."""


class ResourceChanges:
    """The changes of a resource at a server since a revision."""

    def __init__(self, api: ApiClient, of: AdoptedResource, revision: int) -> None:
        self._api = api
        self._of = of
        self.revision = revision
        """All changes up to it were returned."""

    async def read(self) -> list[Difference]:
        """Return the latest change of each object that has changed until now.

        Raises:
            ApiError: the server cannot be asked.
            MissedChangesError: it does not tell all changes, or not soon enough.
        """
        up_to = await current_revision(self._api, self._of)
        found: dict[str, Difference] = {}
        if up_to > self.revision:
            try:
                async with aclosing(self._changes(up_to)) as changes:
                    found = {key: change async for key, change in changes}
            except WebhookError as error:
                raise MissedChangesError(str(error)) from error
        if self.revision < up_to:
            raise MissedChangesError(f"the server told changes up to revision {self.revision} of {up_to} only")
        return list(found.values())

    async def _changes(self, up_to: int) -> AsyncGenerator[tuple[str, Difference], None]:
        """Yield changes by the key of their object, and keep the revision. Raises WebhookError and MissedChangesError."""
        query = f"watch=true&allowWatchBookmarks=true&timeoutSeconds={_SECONDS}&resourceVersion={self.revision}"
        longest = _SECONDS + _SPARE_SECONDS
        async with self._api.client.lines(f"{self._of.path}?{query}", longest=longest, silence=longest) as lines:
            async for line in lines:
                event: Json = orjson.loads(line)
                kind, content = event["type"], event["object"]
                if kind == _ERROR:
                    raise MissedChangesError(str(content.get("message")))
                revision = int(content["metadata"]["resourceVersion"])
                if kind != _BOOKMARK:
                    one = stored_object(content)
                    yield one.key, Difference(None, one) if kind == _DELETED else Difference(one, None)
                self.revision = revision
                if revision >= up_to:
                    return


async def changes_from_now(api: ApiClient, resources: Mapping[str, AdoptedResource]) -> dict[str, ResourceChanges]:
    """Return the later changes of resources, by definition. Raises ApiError."""
    return {name: ResourceChanges(api, one, await current_revision(api, one)) for name, one in resources.items()}


async def read_all(changes: Mapping[str, ResourceChanges]) -> dict[str, list[Difference]]:
    """Return what has changed until now, by definition; all are read together, since each may wait for seconds.

    Raises:
        ApiError: the server cannot be asked.
        MissedChangesError: it does not tell all changes.
    """
    found = await asyncio.gather(*(one.read() for one in changes.values()), return_exceptions=True)
    for error in found:
        if isinstance(error, BaseException):
            raise error
    return dict(zip(changes, cast("list[list[Difference]]", found), strict=True))


async def current_revision(api: ApiClient, of: AdoptedResource) -> int:
    """Return the revision of a server's store, which its cache of the resource has reached. Raises ApiError."""
    found = await api.get(f"{of.path}?limit=1")
    return int(found["metadata"]["resourceVersion"])
