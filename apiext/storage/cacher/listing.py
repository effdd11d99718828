"""Lists from memory: a slice of the sorted view, or rendered entries where the sorted view is incomplete."""

from __future__ import annotations

from collections.abc import Sequence

from apiext.meta.gvk import GroupResource
from apiext.storage import list_plan
from apiext.storage.cacher.sorted_view import SortedView
from apiext.storage.change import equal_field, is_everything, selection_key
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.entry import Entry
from apiext.storage.interface import CorruptObjectError, Item, ListResult, Selection
from apiext.storage.list_plan import ListPlan
from apiext.storage.time_slice import Pace
from apiext.storage.view import View


def from_sorted_view(plan: ListPlan, sorted_view: SortedView, place: slice, *, limit: int, revision: int) -> ListResult:
    """List from a range of the sorted view; cache the selections."""
    unfiltered = is_everything(plan.selection)
    if limit and unfiltered:
        items = sorted_view.items[place.start : min(place.start + limit, place.stop)]
        total = place.stop - place.start
        return list_plan.page(plan, items, revision=revision, total=total, more=total > limit, unfiltered=True)
    selected = _selected(plan, sorted_view, place)
    if not limit or len(selected) < limit:
        return ListResult(items=selected, revision=revision)
    # the reference reports more pages without looking at the selection
    more = selected[limit - 1] is not sorted_view.items[place.stop - 1]
    return list_plan.page(plan, selected[:limit], revision=revision, total=0, more=more, unfiltered=False)


def _selected(plan: ListPlan, sorted_view: SortedView, place: slice) -> Sequence[Item]:
    """Return the selected items of a range of the sorted view."""
    label = _only_label(plan.selection)
    if label is not None:
        return [item for item in sorted_view.with_label(*label) if item.key.startswith(plan.scope) and item.key >= plan.scope + plan.start]
    field = equal_field(plan.selection)
    if field is not None:
        matches, begin = plan.selection.matches, plan.scope + plan.start
        found = (item for item in sorted_view.with_field(*field) if item.key.startswith(plan.scope) and item.key >= begin)
        return [item for item in found if matches(item.labels, item.fields)]
    what = (plan.scope, plan.start, *selection_key(plan.selection))
    return sorted_view.selection(what, lambda: _select(sorted_view.items[place], plan.selection))


async def from_entries(
    plan: ListPlan, entries: Sequence[Entry], view: View, *, limit: int, resource: GroupResource, revision: int
) -> ListResult:
    """List from entries as they are at the call.

    Raises:
        StatusError: 500 if entries are corrupt; the converter's error.
    """
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
    """Return up to `limit` selected items, and the number of entries read for them."""
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
    if not view.inline:
        for shown in await view.items(entries):
            if isinstance(shown, Item):
                items.append(shown)
            elif isinstance(shown, CorruptObjectError):
                corruption.add(shown)
            else:
                raise shown
        corruption.check()
        return items
    pace = Pace()
    for entry in entries:
        if pace.due:
            await pace.pause()
        try:
            items.append(view.item(entry))
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
    """Return the key and value of a selection's only requirement, if it is the equality of a label."""
    if selection.labels is None or (selection.fields is not None and not selection.fields.empty):
        return None
    return selection.labels.equality
