"""Tests of how watches end with the server."""

import pytest

from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.base.meta.errors import StatusError
from apiext.storage.interface import Event
from apiext.storage.rendering.watch_queue import WatchQueue


def _opened(watches: Watches, count: int) -> list[WatchQueue[Event]]:
    found: list[WatchQueue[Event]] = [WatchQueue() for _ in range(count)]
    for watch in found:
        watches.add(watch)
    return found


@pytest.mark.parametrize("count,seconds", [(0, 0.0), (1, 0.0), (300, 0.0), (0, 0.1), (7, 5.0), (300, 0.1)])
async def test_ends_all(count: int, seconds: float) -> None:
    """End every watch, also of a definition."""
    server = Watches()
    watches = [*_opened(server, count), *_opened(Watches(server), count)]
    await server.end(seconds)

    assert all(watch.finished for watch in watches)


async def test_ends_them_one_after_the_other() -> None:
    """End a part of the watches at once, the others later."""
    server = Watches()
    watches = _opened(server, 100)
    ending = server.end(60.0)
    ending.send(None)
    ended = sum(watch.finished for watch in watches)
    ending.close()

    assert 0 < ended < len(watches)


@pytest.mark.parametrize("is_closed", [False, True])
def test_refuses_watches_before_the_end(*, is_closed: bool) -> None:
    """Answer a new watch of a definition with 429, and let the others continue."""
    server = Watches()
    definition = Watches(server)
    (earlier,) = _opened(definition, 1)
    if is_closed:
        definition.close()
    server.drain()
    with pytest.raises(StatusError) as raised:
        definition.add(WatchQueue())

    assert (raised.value.code, raised.value.retry_after) == (429, 1)
    assert earlier.finished == is_closed


@pytest.mark.parametrize("compresses", [True, False])
def test_compression_is_of_the_server(compresses: bool) -> None:  # noqa: FBT001
    """Compress the watches of all definitions as the server does."""
    assert Watches().compresses
    assert Watches(Watches(Watches(compresses=compresses))).compresses is compresses
