"""Restores a backup into an etcd, below a prefix that no server uses.

A record marks the prefix until everything is there: servers refuse to start on it, and the same restoration can be repeated. It is also
where servers of earlier releases look for it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson

from apiext.storage import keys
from apiext.storage.backend import BackendError, Guard, ValueTooLargeError
from apiext.storage.backends.revision_offset import OFFSET_MEMBER, OFFSET_RECORD, next_offset, recorded_offset
from apiext.storage.backends.unfinished_restore import RESTORE_RECORD
from apiext.storage.backups.stored_pairs import KUBE_APISERVERS, BackupError, is_content
from apiext.storage.paged_reads import latest_pages
from apiext.storage.replicas import server_keys
from apiext.storage.replicas.host_records import HostRecords
from apiext.storage.replicas.roll_call import Replicas

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from apiext.storage.backend import Backend, KeyValue

_TOGETHER: Final = 64
"""Concurrent writes."""
_BACKUP: Final = "backup"
"""Member of the record: which part of which backup is restored."""
_CLEARED: Final = "cleared"
"""Member of the record: whether all earlier keys are deleted."""


@dataclass(frozen=True, slots=True)
class EtcdTarget:
    """The prefix of an etcd into which keys are restored."""

    backend: Backend
    """Without an offset of its revisions."""
    prefix: str
    release: str
    """Version of apiext, for the records of other servers."""

    async def restore(self, pairs: Iterable[tuple[str, bytes]], identity: str, *, highest: int, now: float, replace: bool = False) -> int:
        """Restore keys, relative to the prefix. Return their number. With `replace`, delete all present keys first.

        Repeat an interrupted call with the same keys and the same `identity` of them.

        Raises:
            BackupError: the prefix has other keys and `replace` is not set, a server uses it, or etcd refuses.
        """
        try:
            return await self._restore(identity, pairs, highest, now, replace=replace)
        except BackendError as error:
            raise BackupError(f"etcd: {error}") from error

    async def _restore(self, identity: str, pairs: Iterable[tuple[str, bytes]], highest: int, now: float, *, replace: bool) -> int:
        records, root = HostRecords(self.backend, self.prefix), keys.root(self.prefix)
        marks, offsets = records.keys(RESTORE_RECORD), records.keys(OFFSET_RECORD)
        begun = await records.get(RESTORE_RECORD)
        is_repeated = begun is not None and begun.get(_BACKUP) == identity
        if begun is not None and not (is_repeated or replace):
            raise BackupError(f"another restoration below {root} was interrupted: repeat that one, or delete what it wrote with --replace")
        if (await self.backend.list(root, limit=1)).items:
            await self._check_unused(root)
            if not (replace or is_repeated or await self._is_empty(root)):
                raise BackupError(f"there are keys below {root}: restore below another prefix, or delete them with --replace")
        offset = await recorded_offset(records) or 0
        if not (is_repeated and begun and begun.get(_CLEARED)):
            await records.put(RESTORE_RECORD, {_BACKUP: identity, _CLEARED: False}, everywhere=True)
            # again, now that no server can start any more
            await self._check_unused(root)
            await self._clear(root, except_for=(*marks, *offsets))
            await records.put(RESTORE_RECORD, {_BACKUP: identity, _CLEARED: True}, everywhere=True)
        # another restoration may end meanwhile, and a server start and write; one of an earlier release writes only the former record
        guard = await self._guard(records.former_key(RESTORE_RECORD))
        count = await self._write(root, pairs, guard)
        seen = offset + await self.backend.revision()
        new = orjson.dumps({OFFSET_MEMBER: next_offset(max(highest, seen), now)}) + b"\n"
        for key in offsets:
            await self._put(key, new, guard)
        for key in marks:
            await self._delete(await self._present(key))
        return count

    async def _check_unused(self, root: str) -> None:
        """Check that no server answers. Wait some seconds for servers that died without notice."""
        for kept in KUBE_APISERVERS:
            if (await self.backend.list(root + kept, limit=1)).items:
                raise BackupError(f"a kube-apiserver uses {root}: restore below another prefix")
        places = (server_keys.root(self.prefix), server_keys.former_root(self.prefix))
        found = [await self.backend.list(f"{place}{server_keys.REPLICAS}", limit=1) for place in places]
        if not any(one.items for one in found):
            return
        own = Replicas(self.backend, self.prefix, address="restore", release=self.release, encodings=dict, is_sole=False)
        await own.start()
        try:
            others = [replica.address for replica in await own.roll_call() if replica.id != own.id]
        finally:
            await own.close()
        if others:
            raise BackupError(f"servers use {root}: stop them, or restore below another prefix ({', '.join(others)})")

    async def _is_empty(self, root: str) -> bool:
        """Report whether a prefix has nothing but records of servers that are gone."""
        async for page in latest_pages(self.backend, root):
            if any(is_content(pair.key.removeprefix(root)) for pair in page):
                return False
        return True

    async def _clear(self, root: str, *, except_for: Sequence[str]) -> None:
        async for page in latest_pages(self.backend, root):
            await self._delete([pair for pair in page if pair.key not in except_for])

    async def _guard(self, record: str) -> Guard:
        """Return the condition that the record of the restoration has not changed from now on."""
        found, _ = await self.backend.get(record)
        if found is None:
            raise _ended()
        return Guard(record, found.revision)

    async def _write(self, root: str, pairs: Iterable[tuple[str, bytes]], guard: Guard) -> int:
        following, count = iter(pairs), 0
        while batch := list(islice(following, _TOGETHER)):
            await _settled(self._put(root + key, value, guard) for key, value in batch)
            count += len(batch)
        return count

    async def _put(self, key: str, value: bytes, guard: Guard) -> None:
        try:
            result = await self.backend.create(key, value, guard=guard)
            while not (result.succeeded or result.guard_failed) and (result.current is None or result.current.value != value):
                expected = 0 if result.current is None else result.current.revision
                result = await self.backend.update(key, value, expected=expected, guard=guard)
        except ValueTooLargeError as error:
            raise BackupError(f"{key} has {len(value)} bytes, which etcd refuses: {error}") from error
        if result.guard_failed:
            raise _ended()

    async def _present(self, key: str) -> list[KeyValue]:
        found, _ = await self.backend.get(key)
        return [] if found is None else [found]

    async def _delete(self, pairs: Sequence[KeyValue]) -> None:
        for first in range(0, len(pairs), _TOGETHER):
            chosen = pairs[first : first + _TOGETHER]
            await _settled(self.backend.delete(pair.key, expected=pair.revision) for pair in chosen)


async def _settled(writes: Iterable[Awaitable[object]]) -> None:
    """Wait until all writes have ended, so that none comes after the error of another; then raise the first error."""
    for outcome in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _ended() -> BackupError:
    return BackupError("another restoration of the store began or ended meanwhile: look at its outcome")
