"""The sorted items of a view."""

from apiext.storage.cacher.sorted_view import SortedView
from apiext.storage.interface import Item
from apiext.storage.rendering import Renderer
from apiext.storage.view import View
from tests.support.builders.widgets import WidgetCodec


def test_indexes_absent_fields_as_empty() -> None:
    """Treat an absent field as empty, as selectors do."""
    codec = WidgetCodec()
    sorted_view = SortedView(View(codec, Renderer("/registry/example.com/widgets/")))
    given: list[tuple[str, dict[str, str]]] = [("a", {}), ("b", {"spec.size": "m"})]
    sorted_view.items = [Item(key=key, revision=1, data=b"{}", labels={}, fields=fields) for key, fields in given]

    assert [[item.key for item in sorted_view.with_field("spec.size", value)] for value in ("", "m", "s")] == [["a"], ["b"], []]
