"""Order of changes that a follower sees: own writes at once, their watch events later."""

from types import SimpleNamespace
from typing import cast

from apiext.base.meta.gvk import GroupResource
from apiext.resources.registry.rest import ResourceRest
from apiext.resources.registry.rest_informer import RestInformer
from apiext.storage.interface import Event, EventType, Item, ListResult
from apiext.storage.rendering.watch_queue import WatchQueue
from tests.support.event_loop import settle


def item(revision: int) -> Item:
    """Return the state of an object at a revision."""
    return Item(key="a", revision=revision, data=b"{}", labels={}, fields={})


def event(kind: EventType, revision: int) -> Event:
    """Return a watch event of the object."""
    return Event(type=kind, item=item(revision), revision=revision, line=b"")


class _Store:
    """An empty store with one watch."""

    def __init__(self) -> None:
        self.watch_queue: WatchQueue[Event] = WatchQueue()

    async def list(self, *_: object) -> ListResult:
        """Return no objects."""
        return ListResult(items=[], revision=3)

    async def watch(self, *_: object) -> WatchQueue[Event]:
        """Return the watch."""
        return self.watch_queue

    async def send(self, *events: Event) -> None:
        """Let the watcher have events."""
        self.watch_queue.push([*events], 0)
        await settle()


async def test_ignores_late_events() -> None:
    """Ignore watch events of states that own writes have replaced or deleted, and take those of other servers."""
    seen: list[int | str] = []
    store = _Store()
    rest = SimpleNamespace(store=store, codec=None, resource=GroupResource("", "things"))
    informer = RestInformer(cast("ResourceRest", rest), lambda one: seen.append(one.revision), seen.append)
    await informer.start()

    informer.observe(item(5))
    await store.send(event(EventType.ADDED, 4), event(EventType.ADDED, 5), event(EventType.MODIFIED, 6))
    assert seen == [5, 6]

    informer.forget(item(8))
    await store.send(event(EventType.MODIFIED, 7), event(EventType.DELETED, 8))
    assert seen == [5, 6, "a"]

    await store.send(event(EventType.ADDED, 9))
    informer.forget(item(8))
    await store.send(event(EventType.DELETED, 10))
    assert seen == [5, 6, "a", 9, "a"]
    await informer.close()
