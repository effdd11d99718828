"""Lists from memory: a slice of the shelf, or entries rendered at leisure where the shelf has gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage import list_plan
from apiext.storage.change import equal_field, is_everything, selection_key
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.interface import CorruptObjectError, ListResult
from apiext.storage.time_slice import Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.gvk import GroupResource
    from apiext.storage.cacher.sorted_view import Shelf
    from apiext.storage.entry import Entry
    from apiext.storage.interface import Item, Selection
    from apiext.storage.list_plan import ListPlan
    from apiext.storage.view import View


def from_shelf(plan: ListPlan, shelf: Shelf, place: slice, *, limit: int, revision: int) -> ListResult:
    """Answer a list from the rendered items at a place of the shelf; what was selected once is remembered."""
    unfiltered = is_everything(plan.selection)
    if limit and unfiltered:
        items = shelf.items[place.start : min(place.start + limit, place.stop)]
        total = place.stop - place.start
        return list_plan.page(plan, items, revision=revision, total=total, more=total > limit, unfiltered=True)
    selected = _selected(plan, shelf, place)
    if not limit or len(selected) < limit:
        return ListResult(items=selected, revision=revision)
    # there is more behind the page, be it selected or not: the reference does not look either
    more = selected[limit - 1] is not shelf.items[place.stop - 1]
    return list_plan.page(plan, selected[:limit], revision=revision, total=0, more=more, unfiltered=False)


def _selected(plan: ListPlan, shelf: Shelf, place: slice) -> Sequence[Item]:
    """The selected items at a place of the shelf."""
    label = _only_label(plan.selection)
    if label is not None:
        return [item for item in shelf.labelled(*label) if item.key.startswith(plan.scope) and item.key >= plan.scope + plan.start]
    field = equal_field(plan.selection)
    if field is not None:
        matches, begin = plan.selection.matches, plan.scope + plan.start
        found = (item for item in shelf.with_field(*field) if item.key.startswith(plan.scope) and item.key >= begin)
        return [item for item in found if matches(item.labels, item.fields)]
    what = (plan.scope, plan.start, *selection_key(plan.selection))
    selected = shelf.selected(what)
    if selected is None:
        selected = _select(shelf.items[place], plan.selection)
        shelf.remember(what, selected)
    return selected


async def from_entries(
    plan: ListPlan, entries: Sequence[Entry], view: View, *, limit: int, resource: GroupResource, revision: int
) -> ListResult:
    """Answer a list from entries; what changes while they are rendered plays no part. Raises StatusError 500 when some are corrupt."""
    unfiltered = is_everything(plan.selection)
    if not limit:
        return ListResult(items=_select(await _render(entries, view, resource), plan.selection), revision=revision)
    if unfiltered:
        items = await _render(entries[:limit], view, resource)
        taken = min(limit, len(entries))
    else:
        items, taken = await _selected_page(plan.selection, entries, view, limit, resource)
    more = taken < len(entries)
    return list_plan.page(plan, items, revision=revision, total=len(entries), more=more, unfiltered=unfiltered)


async def _selected_page(
    selection: Selection, entries: Sequence[Entry], view: View, limit: int, resource: GroupResource
) -> tuple[list[Item], int]:
    """Up to `limit` selected items, and how many entries they took: a page of a few must not render all that lies behind."""
    items: list[Item] = []
    taken = 0
    while taken < len(entries):
        step = entries[taken : taken + limit]
        for place, item in enumerate(await _render(step, view, resource), start=taken + 1):
            if selection.matches(item.labels, item.fields):
                items.append(item)
                if len(items) == limit:
                    return items, place
        taken += len(step)
    return items, taken


async def _render(entries: Sequence[Entry], view: View, resource: GroupResource) -> list[Item]:
    corruption = Corruption(resource)
    items: list[Item] = []
    pace = Pace()
    for entry in entries:
        if pace.due:
            await pace.pause()
        try:
            items.append(entry.item(view))
        except CorruptObjectError as error:
            corruption.add(error)
    corruption.check()
    return items


def _select(items: Sequence[Item], selection: Selection) -> Sequence[Item]:
    if is_everything(selection):
        return items
    label = _only_label(selection)
    if label is not None:
        key, value = label
        return [item for item in items if item.labels.get(key) == value]
    return [item for item in items if selection.matches(item.labels, item.fields)]


def _only_label(selection: Selection) -> tuple[str, str] | None:
    """Key and value of the label that is all a selection asks for."""
    if selection.labels is None or (selection.fields is not None and not selection.fields.empty):
        return None
    return selection.labels.equality
