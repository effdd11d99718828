"""Lists from memory: a slice of the sorted view, or rendered entries while the sorted view is incomplete."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from apiext.base.meta.gvk import GroupResource
from apiext.base.scheduling.time_slice import Pace, in_slices
from apiext.storage import list_plan
from apiext.storage.cacher.sorted_view import SortedView, between, place, select
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.errors import CorruptObjectError
from apiext.storage.interface import Item, ListResult, RenderResult, Selection
from apiext.storage.list_plan import ListPlan
from apiext.storage.rendering.interest import is_everything
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView


async def from_sorted_view(plan: ListPlan, sorted_view: SortedView, *, limit: int, revision: int) -> ListResult:
    """List from the sorted view's state at the call. Visit many items in slices."""
    if is_everything(plan.selection):
        shown, total = sorted_view.page(plan.scope, plan.start, limit)
        return list_plan.page(plan, shown, revision=revision, total=total, more=total > len(shown), unfiltered=True)
    items = sorted_view.items
    selected = await sorted_view.selected(plan.scope, plan.selection)
    if plan.start:
        selected = between(selected, plan.scope, plan.start)
    if not limit or len(selected) < limit:
        return ListResult(items=selected, revision=revision)
    # the reference reports more pages regardless of the selection
    here = place(items, plan.scope, plan.start)
    more = selected[limit - 1] is not items[here.stop - 1]
    return list_plan.page(plan, selected[:limit], revision=revision, total=0, more=more, unfiltered=False)


async def from_entries(
    plan: ListPlan, entries: Sequence[StoredEntry], view: VersionView, *, limit: int, resource: GroupResource, revision: int
) -> ListResult:
    """List from the state of entries at the call.

    Raises:
        StatusError: 500 if entries are corrupt. Also the converter's error.
    """
    unfiltered, pace = is_everything(plan.selection), Pace()
    items: Sequence[Item]
    if not limit:
        items = await _render(entries, view, resource, pace)
        return ListResult(items=items if unfiltered else await in_slices(select(items, plan.selection)), revision=revision)
    if unfiltered:
        items = await _render(entries[:limit], view, resource, pace)
        taken = min(limit, len(entries))
    else:
        items, taken = await _selected_page(plan.selection, entries, view, limit, resource, pace)
    more = taken < len(entries)
    return list_plan.page(plan, items, revision=revision, total=len(entries), more=more, unfiltered=unfiltered)


async def _selected_page(
    selection: Selection, entries: Sequence[StoredEntry], view: VersionView, limit: int, resource: GroupResource, pace: Pace
) -> tuple[list[Item], int]:
    """Return up to `limit` selected items, and the number of entries read."""
    items: list[Item] = []
    taken = 0
    while taken < len(entries):
        step = entries[taken : taken + limit]
        for number, item in enumerate(await _render(step, view, resource, pace), start=taken + 1):
            if selection.matches(item):
                items.append(item)
                if len(items) == limit:
                    return items, number
        taken += len(step)
    return items, taken


async def _render(entries: Sequence[StoredEntry], view: VersionView, resource: GroupResource, pace: Pace) -> list[Item]:
    corruption = Corruption(resource)
    items: list[Item] = []
    async for shown in _shown(entries, view, pace):
        if isinstance(shown, Item):
            items.append(shown)
        elif isinstance(shown, CorruptObjectError):
            corruption.add(shown)
        else:
            raise shown
    corruption.check()
    return items


async def _shown(entries: Sequence[StoredEntry], view: VersionView, pace: Pace) -> AsyncIterator[RenderResult]:
    if not view.inline:
        for shown in await view.items(entries):
            yield shown
        return
    for entry in entries:
        if pace.due:
            await pace.pause()
        if not view.is_ready(entry):
            (shown,) = await view.items([entry])
            yield shown
            continue
        try:
            yield view.item(entry)
        except CorruptObjectError as error:
            yield error
