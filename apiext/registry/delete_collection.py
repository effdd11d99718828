"""Deletion of a collection, page by page (apiserver pkg/registry/generic/registry/store.go, DeleteCollection)."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta import errors
from apiext.scheduling.gradual_list import GradualList
from apiext.scheduling.tasks import end_tasks
from apiext.scheduling.time_slice import Pace
from apiext.storage.interface import Item, ListResult, VersionMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.registry.request_context import DeleteOptions, RequestContext
    from apiext.storage.interface import ListOptions

_PAGE_KEYS: Final = 10_000  # objects
_WORKERS: Final = 16
"""Concurrent deletions: enough to share the backend's commits. Webhooks and policies see one after the other, as in the reference."""


class Collection(Protocol):
    """Lists and deletes the objects of a resource. Its methods raise StatusError."""

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """Return a page of objects."""
        ...

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object or mark it for deletion."""
        ...


async def delete_all(rest: Collection, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
    """Delete the objects of a list: one page if it has a limit, otherwise all. Return the list.

    Raises:
        StatusError: the first failure of a deletion.
    """
    if list_options.limit > 0:
        page = await rest.list(ctx, list_options)
        await _delete_page(rest, ctx, options, page.items)
        return page
    wanted = dataclasses.replace(list_options, limit=_PAGE_KEYS)
    first: ListResult | None = None
    items: GradualList[Item] = GradualList()
    while True:
        page = await rest.list(ctx, wanted)
        await _delete_page(rest, ctx, options, page.items)
        items += page.items
        first = first or page
        if not page.continue_token:
            return ListResult(items=items, revision=first.revision)
        wanted = dataclasses.replace(wanted, continue_token=page.continue_token, resource_version="", match=VersionMatch.UNSET)


async def _delete_page(rest: Collection, ctx: RequestContext, options: DeleteOptions, items: Sequence[Item]) -> None:
    queue = iter(items)
    # A dry run on an embedded store never waits. Urgent: only the workers of this page share the slices.
    pace = Pace(urgent=True)

    async def work() -> None:
        for item in queue:
            await pace.checkpoint()
            namespace = item.fields.get("metadata.namespace", "")
            target = ctx if namespace == ctx.namespace else dataclasses.replace(ctx, namespace=namespace)
            try:
                await rest.delete(target, item.fields["metadata.name"], options)
            except errors.StatusError as error:
                if error.code != 404:
                    raise

    workers = [asyncio.ensure_future(work()) for _ in range(min(1 if options.whole else _WORKERS, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        await end_tasks(*workers)
