"""Entries hold an object once, however often it is shown."""

import gc

import pytest

from apiext.storage.entry import Entry, read
from apiext.storage.interface import CorruptObjectError
from apiext.storage.rendering import Renderer
from apiext.storage.value.identity import IdentityTransformer
from apiext.storage.view import View
from tests.support.builders.widgets import WidgetCodec, widget

RENDERER = Renderer(prefix="/registry/example.com/widgets/", transformer=IdentityTransformer())


def entry_of(key: str, **spec: str) -> tuple[Entry, bytes]:
    """An entry at revision 7, and its bytes."""
    raw = WidgetCodec().encode(widget(key) | {"spec": spec})
    return Entry(key, 7, raw), raw


def test_rendering_is_made_once() -> None:
    """The same view gets the same item; another, one of its own."""
    codec, other = WidgetCodec(), WidgetCodec("v2")
    view, second = View(codec, RENDERER), View(other, RENDERER)
    entry, _ = entry_of("a/x")

    assert entry.ready(view) is None
    item = entry.item(view)
    assert entry.item(view) is item is entry.ready(view)
    assert entry.item(second) is entry.item(second) is not item
    assert (codec.decoded, other.decoded) == (1, 1)
    assert b'"resourceVersion":"7"' in item.data


def test_stored_bytes_are_let_go() -> None:
    """When the rendering holds all that is stored, the bytes are kept once and given back from it."""
    codec = WidgetCodec()
    entry, raw = entry_of("a/x", text='"resourceVersion":"7",')
    before = entry.size
    item = entry.item(View(codec, RENDERER))

    assert entry.raw == raw
    assert entry.size == len(item.data)
    assert entry.size - before < 30


def test_stored_bytes_are_kept() -> None:
    """When the rendering shows something else than what is stored, both are kept."""
    codec = WidgetCodec("v2")
    entry, raw = entry_of("a/x")
    item = entry.item(View(codec, RENDERER))

    assert entry.raw == raw
    assert entry.size == len(raw) + len(item.data)


def test_misleading_content() -> None:
    """Content that looks like a resourceVersion before the real one does not lead astray."""
    codec = WidgetCodec()
    obj = widget("a/x") | {"data": {"resourceVersion": "7", "z": 1}}
    raw = codec.encode(obj)
    entry = Entry("a/x", 7, raw)
    view = View(codec, RENDERER)
    entry.item(view)

    assert entry.raw == raw
    assert entry.at(view, 9).object()["data"] == {"resourceVersion": "7", "z": 1}
    assert entry.at(view, 9).object()["metadata"]["resourceVersion"] == "9"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_at_another_revision(version: str) -> None:
    """A deletion shows the object under its own revision."""
    codec = WidgetCodec(version)
    view = View(codec, RENDERER)
    entry, _ = entry_of("a/x")
    for _ in range(2):
        gone = entry.at(view, 12)
        assert (gone.revision, gone.object()["metadata"]["resourceVersion"]) == (12, "12")
        entry.item(view)


def test_forgetting_a_view() -> None:
    """Renderings of a view that is no more are let go, and the stored bytes survive it."""
    codec, other = WidgetCodec(), WidgetCodec("v2")
    view, second = View(codec, RENDERER), View(other, RENDERER)
    entry, raw = entry_of("a/x")
    entry.item(view)
    entry.item(second)
    entry.forget(view)
    entry.forget(second)

    assert (entry.ready(view), entry.ready(second)) == (None, None)
    assert entry.raw == raw
    assert entry.item(second).object()["apiVersion"] == "example.com/v2"
    assert entry.raw == raw


def test_view_does_not_keep_its_codec() -> None:
    """When nobody holds a codec any more, its view is told to be released."""
    released: list[View] = []
    codec = WidgetCodec()
    view = View(codec, RENDERER, released.append)
    del codec
    gc.collect()

    assert released == [view]


def test_corrupt_value() -> None:
    """A value that the transformer refuses fails whoever asks for it, under its full key."""
    entry = read(RENDERER, "a/x", b"k8s:enc:aescbc:v1:key1:secret", 7)
    codec = WidgetCodec()

    with pytest.raises(CorruptObjectError, match="identity transformer tried to read encrypted data") as caught:
        entry.item(View(codec, RENDERER))
    assert caught.value.key == "/registry/example.com/widgets/a/x"
    assert entry.size == 0


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b"1", b'"x"', b"{}", b'{"kind":"Widget"}', b'{"kind":"Widget","metadata":[]}', b"\xff"]
)
def test_undecodable_value(raw: bytes) -> None:
    """Whatever bytes somebody has stored, a reader gets one kind of error."""
    codec = WidgetCodec()

    with pytest.raises(CorruptObjectError, match="object not decodable revision=7"):
        Entry("a/x", 7, raw).item(View(codec, RENDERER))
