"""Records of servers on each store: those of earlier releases are moved, and what is no record stays."""

from collections.abc import Mapping
from typing import Final

import pytest

from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.storage.backend import Backend, BackendError
from apiext.storage.backends.revision_offset import OFFSET_RECORD, OffsetBackend, with_offset
from apiext.storage.backends.unfinished_restore import RESTORE_RECORD, refuse_unfinished_restore
from apiext.storage.replicas.former_records import FormerRecords
from apiext.storage.replicas.host_records import HostRecords

OBJECTS: Final = {
    "apiext.dev/widgets/default/a": b'{"apiVersion":"apiext.dev/v1","kind":"Widget"}\n',
    "apiext.dev/hosts/host": b'{"apiVersion":"apiext.dev/v1","kind":"Host"}\n',
    "apiext.dev/replicas/members/forged": b'{"answered":9,"apiVersion":"apiext.dev/v1","encodings":{},"kind":"Replica"}\n',
    "apiext.dev/replicas/call": b"\xd9\xd9\xf7\xa0",
    "apiext.dev/companions/forged": b'{"apiVersion":"apiext.dev/v1","kind":"Companion"}\n',
    "apiext.devs/host": b"{}\n",
    "example.com/widgets/default/a": b"{}\n",
}
"""Keys that are no records of servers."""

OTHER: Final = {"apiext.dev": "apiext", "apiext": "apiext.dev"}
"""The present and the former place of records."""


async def put(backend: Backend, prefix: str, values: Mapping[str, bytes]) -> None:
    """Write keys below a prefix."""
    for key, value in values.items():
        assert (await backend.create(f"{prefix}{key}", value)).succeeded


async def below(backend: Backend, prefix: str) -> dict[str, bytes]:
    """Return the keys below a prefix, with their values."""
    return {pair.key.removeprefix(prefix): pair.value for pair in (await backend.list(prefix)).items}


async def test_moves_the_records_of_earlier_releases(backend: Backend, prefix: str) -> None:
    """Move records, end locks, roll calls and companions, and keep a copy of what never changes; leave objects alone."""
    kept = {"host": b'{"uid":"u"}\n', "revision-base": b'{"base":7}\n'}
    moved = {name: b'{"%s":1}\n' % name.encode() for name in ("conversion-rules-in-use", "event-expiry", "host-authentication")}
    useless = {
        **dict.fromkeys(("migration", "storage-version-migrations"), b'{"holder":"dead"}\n'),
        "replicas/members/dead": b'{"answered":5,"encodings":{}}\n',
        **{f"companions/n{number}.example.com": b"" for number in range(100)},
    }
    await put(backend, prefix, OBJECTS | {f"apiext.dev/{name}": value for name, value in (kept | moved | useless).items()})
    await FormerRecords(backend, prefix).move()
    expected = OBJECTS | {f"apiext/{name}": value for name, value in (kept | moved).items()}
    expected |= {f"apiext.dev/{name}": value for name, value in kept.items()}
    assert await below(backend, prefix) == expected

    revision = await backend.revision()
    await FormerRecords(backend, prefix).move()
    assert await backend.revision() == revision


@pytest.mark.parametrize("first", ["apiext.dev", "apiext"])
async def test_the_later_record_counts(backend: Backend, prefix: str, first: str) -> None:
    """Read and keep what was written last, at whichever place."""
    name, records = "host-authentication", HostRecords(backend, prefix)
    await put(backend, prefix, {f"{first}/{name}": b'{"a":1}\n', f"{OTHER[first]}/{name}": b'{"a":2}\n'})
    assert await records.get(name) == {"a": 2}
    await FormerRecords(backend, prefix).move()

    assert await below(backend, prefix) == {f"apiext/{name}": b'{"a":2}\n'}


async def test_writes_both_places_while_there_is_a_former_record(backend: Backend, prefix: str) -> None:
    """Keep a record of an earlier release up to date, also by what its servers added; write no new one."""
    records = HostRecords(backend, prefix)
    await put(backend, prefix, {"apiext.dev/a": b'{"former":1}\n', "apiext.dev/b": b'{"former":1}\n', "apiext/b": b'{"present":1}\n'})
    await records.put("a", {"a": 2})
    await records.put("c", {"c": 2})
    seen: dict[str, int] = {}

    def exchanged(recorded: dict[str, int]) -> dict[str, int]:
        seen.update(recorded)
        return {**recorded, **seen, "own": 1}

    await records.change("b", exchanged)
    every = b'{"former":1,"own":1,"present":1}\n'
    expected = {"apiext/a": b'{"a":2}\n', "apiext.dev/a": b'{"a":2}\n', "apiext/b": every, "apiext/c": b'{"c":2}\n'}
    assert await below(backend, prefix) == expected | {"apiext.dev/b": b'{"former":1,"own":1}\n'}


async def test_agrees_with_earlier_releases(backend: Backend, prefix: str) -> None:
    """Take over what an earlier release has recorded; what it records later changes nothing."""
    records = HostRecords(backend, prefix)
    await put(backend, prefix, {"apiext.dev/host": b'{"uid":"first"}\n'})
    assert await records.claim("other") == "first"
    await FormerRecords(backend, prefix).move()
    pair, _ = await backend.get(f"{prefix}apiext.dev/host")
    assert pair is not None
    await backend.update(pair.key, b'{"uid":"another"}\n', expected=pair.revision)

    assert await records.claim("other") == "first"


async def test_the_greater_offset_counts(backend: Backend, prefix: str) -> None:
    """Never let revisions go back, whichever release recorded the offset; do not record another one beside it."""
    offsets = []
    for place in ("apiext.dev", "apiext"):
        for base in (5, REVISION_BASE + 5):
            root = f"{prefix}{place}{base}/"
            await put(backend, root, {f"{place}/{OFFSET_RECORD}": b'{"base":%d}\n' % base})
            offsets += [await with_offset(backend, root, begin=begin) for begin in (True, False)]
            await put(backend, root, {f"{OTHER[place]}/{OFFSET_RECORD}": b'{"base":9}\n'})
            offsets.append(await with_offset(backend, root, begin=False))
    found = [one.offset for one in offsets if isinstance(one, OffsetBackend)]

    assert found == [5, 5, 9, REVISION_BASE + 5, REVISION_BASE + 5, REVISION_BASE + 5] * 2


@pytest.mark.parametrize("place", ["apiext.dev", "apiext"])
async def test_an_unfinished_restoration_of_either_release(backend: Backend, prefix: str, place: str) -> None:
    """Refuse a store that any release restores."""
    await refuse_unfinished_restore(backend, prefix)
    await put(backend, prefix, {f"{place}/{RESTORE_RECORD}": b"{}\n"})

    with pytest.raises(BackendError, match=f"{place}/{RESTORE_RECORD}"):
        await refuse_unfinished_restore(backend, prefix)
