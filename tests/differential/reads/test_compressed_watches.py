"""Which watches are compressed, for which clients."""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from tests.support.builders.crds import widget, widget_crd

pytestmark = pytest.mark.slow

_GROUP: Final = "compressed.example.com"
_WIDGETS: Final = f"/apis/{_GROUP}/v1/namespaces/default/widgets"
_SECONDS: Final = "timeoutSeconds=1"
_LIST: Final = f"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&{_SECONDS}"
_QUERIES: Final = (
    f"{_LIST}&allowWatchBookmarks=true",
    f"{_LIST}&allowWatchBookmarks=true&resourceVersion=0",
    _LIST,
    f"watch=1&{_SECONDS}",
    f"watch=1&allowWatchBookmarks=true&{_SECONDS}",
    f"watch=1&resourceVersion=0&allowWatchBookmarks=true&{_SECONDS}",
)
_ENCODINGS: Final = ("gzip", "deflate, gzip", "identity", "br")


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Serve some objects, which are longer than what lists compress."""
    with pair.served(widget_crd(group=_GROUP)):
        for side, number in itertools.product((pair.reference, pair.ours), range(3)):
            obj = widget(f"w-{number}", group=_GROUP)
            obj["metadata"]["annotations"] = {"a": "x" * 100_000}
            side.raw(Step("POST", _WIDGETS, obj))
        yield pair


def _watched(side: Side, watch: Step) -> tuple[Any, ...]:
    """Return the head of an answer, and the types of the events in it; how many bookmarks follow each other depends on the time."""
    response, data = side.raw(watch)
    encoding = response.headers.get("Content-Encoding")
    if encoding == "gzip":
        first = zlib.decompressobj(wbits=31)
        # each of the pieces can be read without those before it
        assert first.decompress(data)
        assert first.eof
        data = gzip.decompress(data)
    found = [json.loads(line)["type"] for line in data.splitlines()]
    types = [one for one, before in zip(found, ["", *found], strict=False) if (one, before) != ("BOOKMARK", "BOOKMARK")]
    return response.status, encoding, response.headers.get("Vary"), response.headers["Content-Type"], types


@pytest.mark.parametrize("encoding", _ENCODINGS)
def test_watches(served: Pair, encoding: str) -> None:
    """Compress watches that begin with a list and have bookmarks, whatever their size, for clients that accept gzip."""
    watches = [Step("GET", f"{_WIDGETS}?{query}", headers={"Accept-Encoding": encoding}) for query in _QUERIES]
    theirs, ours = served.at_once(lambda side: side.together(_watched, watches))

    assert ours == theirs
