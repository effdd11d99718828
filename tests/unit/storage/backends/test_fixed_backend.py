"""Objects that never change."""

import pytest

from apiext.storage.backend import FutureRevisionError, UnavailableError
from apiext.storage.backends.fixed_backend import FixedBackend

BACKEND = FixedBackend({"/a/2": b"two", "/a/1": b"one", "/b/1": b"other"}, revision=3)


async def test_reads() -> None:
    """Read keys in their order, in pages, at the one revision."""
    found, revision = await BACKEND.get("/a/1")
    page = await BACKEND.list("/a/", limit=1)
    rest = await BACKEND.list("/a/", start="/a/1\0")

    assert found is not None
    assert (found.value, found.revision, revision) == (b"one", 3, 3)
    assert (await BACKEND.get("/a/3"))[0] is None
    assert ([item.key for item in page.items], page.more, page.revision) == (["/a/1"], True, 3)
    assert ([item.key for item in rest.items], rest.more) == (["/a/2"], False)
    assert (await BACKEND.count("/a/"), await BACKEND.revision(), BACKEND.known_revision()) == (2, 3, 3)
    with pytest.raises(FutureRevisionError):
        await BACKEND.list("/a/", revision=4)


async def test_watches_report_the_revision_only() -> None:
    """Begin a watch with a batch without events."""
    watch = BACKEND.watch("/a/")

    batch = await anext(watch)

    assert (list(batch.events), batch.revision) == ([], 3)
    await watch.aclose()


async def test_refuses_writes() -> None:
    """Refuse every write, and accept upkeep."""
    for write in (BACKEND.create("/a/3", b""), BACKEND.update("/a/1", b"", expected=3), BACKEND.delete("/a/1", expected=3)):
        with pytest.raises(UnavailableError):
            await write
    for upkeep in (BACKEND.request_progress(), BACKEND.healthy(), BACKEND.compact(3), BACKEND.compact_aged(), BACKEND.close()):
        await upkeep
