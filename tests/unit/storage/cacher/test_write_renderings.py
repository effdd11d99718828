"""Renderings of writes, for the entries of their events."""

from apiext.storage.cacher.watch_cache import WriteRenderings
from apiext.storage.interface import Item
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView
from tests.support.builders.widgets import WidgetCodec

RAW = b'{"apiVersion":"example.com/v1","metadata":{"name":"a","uid":"u"}}\n'
SHOWN = b'{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a","uid":"u"}}'


def item(revision: int, data: bytes = SHOWN) -> Item:
    """Return a rendering."""
    return Item(key="a", revision=revision, data=data, labels={}, fields={})


def test_an_event_before_the_answer_of_its_write_is_not_rendered_again() -> None:
    """Give the draft of a running write to the event with the same bytes, at the event's revision, and to no other one."""
    codec = WidgetCodec("v2")
    view, renderings = VersionView(codec, Renderer("/widgets/")), WriteRenderings()
    entry, other, later = StoredEntry("a", 7, RAW), StoredEntry("a", 8, RAW.replace(b"u", b"v")), StoredEntry("a", 9, RAW)
    with renderings.expected(view, RAW, item(0)):
        renderings.give(entry)
        renderings.give(other)
    renderings.give(later)

    shown = entry.cached(view)
    assert shown is not None
    assert shown.revision == 7
    assert shown.object()["metadata"] == {"name": "a", "uid": "u", "resourceVersion": "7"}
    assert other.cached(view) is None
    assert later.cached(view) is None


def test_an_event_after_the_answer_of_its_write_is_not_rendered_again() -> None:
    """Give the rendering of a finished write to the event of its revision, until later events have arrived."""
    codec = WidgetCodec("v2")
    view, renderings = VersionView(codec, Renderer("/widgets/")), WriteRenderings()
    made, older = item(7), StoredEntry("a", 6, RAW)
    renderings.add(view, made)
    renderings.give(older)
    renderings.drop(6)
    entry, late = StoredEntry("a", 7, RAW), StoredEntry("a", 7, RAW)
    renderings.give(entry)
    renderings.drop(7)
    renderings.give(late)

    assert entry.cached(view) is made
    assert older.cached(view) is None
    assert late.cached(view) is None
