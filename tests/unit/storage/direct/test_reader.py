"""Long lists from the backend: pages that are converted without a long pause, whatever the limit of the client is."""

import pytest

from apiext.storage.backend import RangeResult
from apiext.storage.interface import ListOptions, Selection, Store, VersionMatch
from tests.support.builders.widgets import WidgetCodec, labelled, relabel, widget
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store

SIZE = 2500
CODEC = WidgetCodec()


class CountingBackend(MemoryBackend):
    """Records the number of keys of each page."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[int] = []

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        found = await super().list(prefix, start=start, revision=revision, limit=limit)
        self.pages.append(len(found.items))
        return found


@pytest.fixture
def backend() -> CountingBackend:
    """Return a backend that records pages."""
    return CountingBackend()


@pytest.fixture
async def store(backend: CountingBackend) -> Store:
    """Return a store without a cache, with many widgets; one of a thousand is odd."""
    store = direct_store(backend)
    for number in range(SIZE):
        await store.create(f"a/{number:05}", widget(f"a/{number:05}", labels={} if number % 1000 else {"odd": "yes"}), CODEC)
    return store


@pytest.mark.parametrize(
    "limit, selection, pages, shown, remaining",
    [
        (0, labelled(""), [8, 64, 512, 1000, 916], SIZE, None),
        (10, labelled(""), [10], 10, SIZE - 10),
        (2400, labelled(""), [1000, 1000, 500], 2400, 100),
        (9999, labelled(""), [1000, 1000, 500], SIZE, None),
        (2, labelled("odd"), [2, 4, 8, 16, 32, 64, 128, 256, 512], 2, None),
    ],
)
async def test_reads_bounded_pages(
    store: Store, backend: CountingBackend, limit: int, selection: Selection, pages: list[int], shown: int, remaining: int | None
) -> None:
    """Read at most 1,000 keys at a time, all at one revision, and no more than the limit needs."""
    page = await store.list("", CODEC, ListOptions(selection, limit=limit))

    assert (len(page.items), page.remaining, bool(page.continue_token)) == (shown, remaining, shown == limit)
    assert backend.pages == pages


async def test_a_long_list_shows_one_revision(store: Store, backend: CountingBackend) -> None:
    """Show the state of the requested revision on all pages, and continue where a page ended."""
    before = await store.list("", CODEC, ListOptions(limit=1))
    for number in range(0, SIZE, 2):
        await relabel(store, CODEC, f"a/{number:05}", odd="yes")

    exact = ListOptions(limit=2000, resource_version=str(before.revision), match=VersionMatch.EXACT)
    first = await store.list("", CODEC, exact)
    rest = await store.list("", CODEC, ListOptions(continue_token=first.continue_token))

    assert [item.key for item in (*first.items, *rest.items)] == [f"a/{number:05}" for number in range(SIZE)]
    assert {first.revision, rest.revision} == {before.revision}
    assert max(item.revision for item in (*first.items, *rest.items)) <= before.revision
    assert max(backend.pages) <= 1000
