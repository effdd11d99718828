"""Renderings of stored objects."""

import json

from hypothesis import given
from hypothesis import strategies as st

from apiext.storage.interface import Item
from apiext.storage.rendering.renderer import Renderer, stored_size, without_revision
from tests.support.builders.widgets import WidgetCodec

TEXTS = st.text(st.characters(codec="ascii", categories=["L", "N"]))


@given(st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(), st.none(), st.lists(TEXTS))))
def test_labels_that_are_no_strings(labels: dict[str, object]) -> None:
    """Ignore label values that only another program can have stored."""
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "labels": labels}}

    item = Renderer("/widgets/").item(WidgetCodec("v1"), "a", json.dumps(obj).encode(), 1)

    assert list(item.labels.items()) == [(name, value) for name, value in labels.items() if isinstance(value, str)]


@given(TEXTS, st.integers(1, 2**63 - 1), TEXTS)
def test_the_stored_bytes_of_a_rendering(before: str, revision: int, after: str) -> None:
    """Restore the stored bytes from a rendering with a resourceVersion, and from no other one."""
    stored = json.dumps({"a": before, "metadata": {"uid": after}}).encode()
    shown = stored.replace(b'"uid":', b'"resourceVersion":"%d","uid":' % revision)
    item = Item(key="a", revision=revision, data=shown, labels={}, fields={})

    assert without_revision(item) == stored + b"\n"
    assert stored_size(item) == len(stored) + 1
    item.revision += 1
    assert without_revision(item) is None
