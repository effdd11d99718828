"""Rendering of many stored objects."""

import gc
import weakref

from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.version_view import render_all
from tests.support.builders.widgets import WidgetCodec


async def test_failures_leave_no_cycle() -> None:
    """Free the errors of objects that cannot be decoded with the results, without the garbage collector."""
    gc.disable()
    try:
        results = await render_all(Renderer("/registry/"), WidgetCodec("v1"), [("a", b"{", 1), ("b", b"[", 2)])
        failures = weakref.WeakSet(result for result in results if isinstance(result, CorruptObjectError))
        assert len(failures) == 2
        del results
        left = len(failures)
    finally:
        gc.enable()

    assert not left
