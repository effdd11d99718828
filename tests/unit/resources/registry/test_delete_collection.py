"""Lists, watches and deletion of collections."""

import dataclasses

import pytest

from apiext.base.meta.errors import StatusError
from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector
from apiext.base.scheduling import time_slice
from apiext.resources.registry.request_context import DeleteOptions, RequestContext
from apiext.resources.registry.rest import delete_all
from apiext.storage.interface import EventType, Item, ListOptions, ListResult, Selection, WatchOptions
from tests.support.event_loop import turns_of
from tests.unit.resources.registry.conftest import Widgets


async def _names(widgets: Widgets, options: ListOptions | None = None) -> list[str]:
    listed = await widgets.rest.list(widgets.ctx, options or ListOptions())
    return [item.fields["metadata.name"] for item in listed.items]


def _fields(text: str) -> Selection:
    return Selection(fields=parse_field_selector(text))


async def _three(widgets: Widgets) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await widgets.create(name, spec={"color": color}, metadata={"labels": {"color": color}})


@pytest.mark.parametrize(
    "selection, names",
    [
        (Selection(), ["a", "b", "c"]),
        (_fields("metadata.name=b"), ["b"]),
        (_fields("metadata.name=nope"), []),
        (_fields("metadata.name!=b"), ["a", "c"]),
        (_fields("spec.color=red"), ["a", "c"]),
        (_fields("metadata.name=b,spec.color=red"), []),
        (Selection(labels=parse_label_selector("color in (blue)")), ["b"]),
    ],
)
async def test_lists_by_selectors(widgets: Widgets, selection: Selection, names: list[str]) -> None:
    """Select by name, selectable fields and labels."""
    await _three(widgets)

    assert await _names(widgets, ListOptions(selection=selection)) == names


async def test_narrows_lists_of_all_namespaces(widgets: Widgets) -> None:
    """Narrow a list of all namespaces by a selector for one."""
    await widgets.create("a")
    widgets.ctx = dataclasses.replace(widgets.ctx, namespace="other")
    await widgets.create("a")
    widgets.ctx = dataclasses.replace(widgets.ctx, namespace="")

    assert await _names(widgets) == ["a", "a"]
    assert await _names(widgets, ListOptions(selection=_fields("metadata.namespace=other"))) == ["a"]
    assert await _names(widgets, ListOptions(selection=_fields("metadata.namespace=other,metadata.name=a"))) == ["a"]


async def test_watches_one_object(widgets: Widgets) -> None:
    """Watch a single object by name."""
    await _three(widgets)
    watch = await widgets.rest.watch(widgets.ctx, WatchOptions(selection=_fields("metadata.name=b")))
    try:
        async for events in watch:
            assert [(event.type, event.item and event.item.key) for event in events] == [(EventType.ADDED, "default/b")]
            break
    finally:
        watch.close()


async def test_deletes_a_collection(widgets: Widgets) -> None:
    """Delete the objects of a list, and mark those with finalizers."""
    await _three(widgets)
    await widgets.create("d", metadata={"finalizers": ["a.b/c"]})
    red = ListOptions(selection=_fields("spec.color=red"))

    deleted = await widgets.rest.delete_collection(widgets.ctx, DeleteOptions(), red)
    assert [item.fields["metadata.name"] for item in deleted.items] == ["a", "c"]
    assert await _names(widgets) == ["b", "d"]

    await widgets.rest.delete_collection(widgets.ctx, DeleteOptions(), ListOptions())
    assert await _names(widgets) == ["d"]
    assert "deletionTimestamp" in (await widgets.get("d"))["metadata"]


async def test_deletes_a_page(widgets: Widgets) -> None:
    """Delete one page, and return its continue token."""
    await _three(widgets)
    deleted = await widgets.rest.delete_collection(widgets.ctx, DeleteOptions(), ListOptions(limit=1))

    assert (len(deleted.items), bool(deleted.continue_token)) == (1, True)
    assert await _names(widgets) == ["b", "c"]


async def test_stops_at_an_error(widgets: Widgets) -> None:
    """Stop at the first refusal, and answer with it."""
    await _three(widgets)

    async def admit(*_args: object) -> None:
        raise StatusError(403, "Forbidden", "keep them", {})

    with pytest.raises(StatusError, match="keep them"):
        await widgets.rest.delete_collection(widgets.ctx, DeleteOptions(admit=admit), ListOptions())
    assert await _names(widgets) == ["a", "b", "c"]


async def test_gives_way_while_nothing_waits(widgets: Widgets, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give way to other tasks between deletions that do not wait by themselves."""
    await widgets.create("a")
    (item,) = (await widgets.rest.list(widgets.ctx, ListOptions())).items
    listed = ListResult(items=[item] * 1000, revision=item.revision)

    class Immediate:
        async def list(self, _ctx: RequestContext, _options: ListOptions) -> ListResult:
            return listed

        async def delete(self, _ctx: RequestContext, _name: str, _options: DeleteOptions) -> tuple[Item, bool]:
            return item, True

    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0.0)
    turns = await turns_of(delete_all(Immediate(), widgets.ctx, DeleteOptions(), ListOptions()))

    assert turns >= 50
