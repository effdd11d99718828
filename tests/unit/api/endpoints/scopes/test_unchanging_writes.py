"""Which writes are known to change nothing."""

from dataclasses import replace
from typing import cast

import pytest

from apiext.api.endpoints.parameters.options import WriteQuery
from apiext.api.endpoints.scopes import unchanging_writes
from apiext.api.endpoints.scopes.unchanging_writes import UnchangingWrites
from apiext.api.endpoints.scopes.write_call import WriteCall
from apiext.base.meta.request import UserInfo
from apiext.resources.registry.rest import ResourceRest
from apiext.storage.backend import BackendError
from apiext.storage.interface import Item

CALL = WriteCall(UserInfo("ann"), "default", "", "a", WriteQuery(), manager="m", media_type="application/json", data=b"{}")


class Objects:
    """The store of a resource: the cached and the stored revisions of its objects by key."""

    def __init__(self) -> None:
        self.cached = {"default/a": 5, "default/b": 6}
        self.stored = dict(self.cached)
        self.codec = None
        self.store = self
        self.is_down = False

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object."""
        return f"{namespace}/{name}"

    def cached_item(self, key: str, _codec: object) -> Item | None:
        """Return the cached object."""
        revision = self.cached.get(key)
        return None if revision is None else Item(key=key, revision=revision, data=b"{}", labels={}, fields={})

    async def is_latest(self, key: str, revision: int) -> bool:
        """Compare with the stored revision."""
        if self.is_down:
            raise BackendError("refused")
        return self.stored.get(key) == revision


@pytest.fixture
def objects() -> Objects:
    """Return the objects."""
    return Objects()


@pytest.fixture
def memory(objects: Objects) -> UnchangingWrites:
    """Return a memory with CALL."""
    memory = UnchangingWrites(cast("ResourceRest", objects))
    assert _note(memory, CALL)
    return memory


def _note(memory: UnchangingWrites, call: WriteCall, revision: int = 0) -> bool:
    """Note a write whose object has another revision afterwards if one is given. Return whether the object was cached."""
    before = memory.cached(call)
    if before is not None:
        memory.note(call, revision or before.revision)
    return before is not None


async def test_a_repeated_write_changes_nothing(memory: UnchangingWrites) -> None:
    """Return the object of the same write."""
    found = await memory.outcome(replace(CALL, user=UserInfo("bob"), warnings=["x"]))
    assert found is not None
    assert (found.key, found.revision) == ("default/a", 5)


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, name="b"),
        replace(CALL, subresource="status"),
        replace(CALL, manager="other"),
        replace(CALL, media_type="application/merge-patch+json"),
        replace(CALL, data=b"{ }"),
        replace(CALL, query=WriteQuery(force=True)),
        replace(CALL, query=WriteQuery(dry_run=True)),
        replace(CALL, query=WriteQuery(field_validation="Strict")),
    ],
)
async def test_other_writes_are_unknown(memory: UnchangingWrites, other: WriteCall) -> None:
    """Know nothing of a write that differs in anything that decides its outcome."""
    assert await memory.outcome(other) is None


async def test_a_change_makes_it_unknown(memory: UnchangingWrites, objects: Objects) -> None:
    """Know nothing once the object has another revision: in the cache, or in the store only."""
    objects.stored["default/a"] = 7
    assert await memory.outcome(CALL) is None
    objects.cached["default/a"] = 7
    assert await memory.outcome(CALL) is None
    objects.cached["default/a"] = objects.stored["default/a"] = 5
    assert await memory.outcome(CALL) is None


async def test_needs_the_store(memory: UnchangingWrites, objects: Objects) -> None:
    """Leave the error of a store that does not answer to the write."""
    objects.is_down = True
    assert await memory.outcome(CALL) is None
    objects.is_down = False
    assert await memory.outcome(CALL) is not None


async def test_remembers_only_what_it_may(objects: Objects) -> None:
    """Forget changes, dry runs, large bodies and objects that are not cached."""
    memory = UnchangingWrites(cast("ResourceRest", objects))
    calls = [CALL, replace(CALL, query=WriteQuery(dry_run=True)), replace(CALL, data=bytes(100_000))]
    assert [_note(memory, call, revision) for call, revision in zip(calls, (6, 0, 0), strict=True)] == [True] * 3
    assert not _note(memory, replace(CALL, name="absent"))
    assert [await memory.outcome(call) for call in calls] == [None] * 3


async def test_is_bounded(memory: UnchangingWrites, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the write that was not repeated for longest."""
    monkeypatch.setattr(unchanging_writes, "MOST", 2)
    others = [replace(CALL, data=b"[%d]" % number) for number in range(2)]
    _note(memory, others[0])
    assert await memory.outcome(CALL) is not None
    _note(memory, others[1])
    assert [await memory.outcome(call) is not None for call in (CALL, *others)] == [True, False, True]
