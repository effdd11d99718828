"""Entries cache their renderings."""

import gc

import pytest

from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry, read
from apiext.storage.rendering.version_view import VersionView
from tests.support.builders.widgets import WidgetCodec, widget

RENDERER = Renderer("/registry/example.com/widgets/")


def entry_of(key: str, **spec: str) -> tuple[StoredEntry, bytes]:
    """Return an entry at revision 7, and its bytes."""
    raw = WidgetCodec().encode(widget(key) | {"spec": spec}).data
    return StoredEntry(key, 7, raw), raw


def test_renders_once_for_each_view() -> None:
    """Render an entry once for each view."""
    codec, other = WidgetCodec(), WidgetCodec("v2")
    view, second = VersionView(codec, RENDERER), VersionView(other, RENDERER)
    entry, _ = entry_of("a/x")

    assert entry.cached(view) is None
    item = view.item(entry)
    assert view.item(entry) is item is entry.cached(view)
    assert second.item(entry) is second.item(entry) is not item
    assert (codec.decoded, other.decoded) == (1, 1)
    assert b'"resourceVersion":"7"' in item.data


def test_drops_restorable_bytes() -> None:
    """Drop the stored bytes if they can be restored from the rendering."""
    codec = WidgetCodec()
    entry, raw = entry_of("a/x", text='"resourceVersion":"7",')
    before = entry.size
    item = VersionView(codec, RENDERER).item(entry)

    assert entry.raw == raw
    assert entry.stored_bytes == len(raw)
    assert entry.size == len(item.data)
    assert entry.size - before < 30


def test_keeps_bytes_that_differ() -> None:
    """Keep the stored bytes if the rendering differs from them."""
    codec = WidgetCodec("v2")
    entry, raw = entry_of("a/x")
    item = VersionView(codec, RENDERER).item(entry)

    assert entry.raw == raw
    assert entry.stored_bytes == len(raw)
    assert entry.size == len(raw) + len(item.data)


def test_ignores_a_revision_in_the_content() -> None:
    """Find the resourceVersion in the metadata, not in earlier content."""
    codec = WidgetCodec()
    obj = widget("a/x") | {"data": {"resourceVersion": "7", "z": 1}}
    raw = codec.encode(obj).data
    entry = StoredEntry("a/x", 7, raw)
    view = VersionView(codec, RENDERER)
    view.item(entry)

    assert entry.raw == raw
    assert view.at(entry, 9).object()["data"] == {"resourceVersion": "7", "z": 1}
    assert view.at(entry, 9).object()["metadata"]["resourceVersion"] == "9"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_renders_another_revision(version: str) -> None:
    """Show an object at the revision of its deletion."""
    codec = WidgetCodec(version)
    view = VersionView(codec, RENDERER)
    entry, _ = entry_of("a/x")
    for _ in range(2):
        gone = view.at(entry, 12)
        assert (gone.revision, gone.object()["metadata"]["resourceVersion"]) == (12, "12")
        view.item(entry)


def test_forgets_a_view() -> None:
    """Drop the renderings of a view without losing the stored bytes."""
    codec, other = WidgetCodec(), WidgetCodec("v2")
    view, second = VersionView(codec, RENDERER), VersionView(other, RENDERER)
    entry, raw = entry_of("a/x")
    view.item(entry)
    second.item(entry)
    entry.forget(view)
    entry.forget(second)

    assert (entry.cached(view), entry.cached(second)) == (None, None)
    assert entry.raw == raw
    assert second.item(entry).object()["apiVersion"] == "example.com/v2"
    assert entry.raw == raw


def test_releases_a_view_with_its_codec() -> None:
    """Release a view when its codec is garbage."""
    released: list[VersionView] = []
    codec = WidgetCodec()
    view = VersionView(codec, RENDERER, released.append)
    del codec
    gc.collect()

    assert released == [view]


def test_raises_an_error_for_encrypted_values() -> None:
    """Raise an error with the full key for an encrypted value."""
    entry = read(RENDERER, "a/x", b"k8s:enc:aescbc:v1:key1:secret", 7)
    codec = WidgetCodec()

    with pytest.raises(CorruptObjectError, match="identity transformer tried to read encrypted data") as caught:
        VersionView(codec, RENDERER).item(entry)
    assert caught.value.key == "/registry/example.com/widgets/a/x"
    assert entry.size == 0


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b"1", b'"x"', b"{}", b'{"kind":"Widget"}', b'{"kind":"Widget","metadata":[]}', b"\xff"]
)
def test_rejects_undecodable_bytes(raw: bytes) -> None:
    """Raise CorruptObjectError for any undecodable bytes."""
    codec = WidgetCodec()

    with pytest.raises(CorruptObjectError, match="object not decodable revision=7"):
        VersionView(codec, RENDERER).item(StoredEntry("a/x", 7, raw))
