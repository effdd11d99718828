"""Order of changes that a follower sees: own writes at once, their watch events later."""

from typing import cast

from apiext.resources.registry.rest import ResourceRest
from apiext.resources.registry.rest_informer import RestInformer
from apiext.storage.interface import Event, EventType, Item


def item(revision: int) -> Item:
    """Return the state of an object at a revision."""
    return Item(key="a", revision=revision, data=b"{}", labels={}, fields={})


def event(kind: EventType, revision: int) -> Event:
    """Return a watch event of the object."""
    return Event(type=kind, item=item(revision), revision=revision, line=b"")


def test_ignores_late_events() -> None:
    """Ignore watch events of states that own writes have replaced or deleted, and take those of other servers."""
    seen: list[int | str] = []
    informer = RestInformer(cast("ResourceRest", None), lambda one: seen.append(one.revision), seen.append)

    informer.observe(item(5))
    informer._apply(event(EventType.ADDED, 4))
    informer._apply(event(EventType.ADDED, 5))
    informer._apply(event(EventType.MODIFIED, 6))
    assert seen == [5, 6]

    informer.forget(item(8))
    informer._apply(event(EventType.MODIFIED, 7))
    informer._apply(event(EventType.DELETED, 8))
    assert seen == [5, 6, "a"]

    informer._apply(event(EventType.ADDED, 9))
    informer.forget(item(8))
    informer._apply(event(EventType.DELETED, 10))
    assert seen == [5, 6, "a", 9, "a"]
    assert not informer._gone
