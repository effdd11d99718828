"""The records of a roll call in one folder of the store."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import orjson

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import Backend, BackendError, KeyValue, UnavailableError
from apiext.storage.replicas.replica import Member, Replica, is_server_record, read_member
from apiext.storage.watch_events import list_and_watch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

FAREWELL_SECONDS: Final = 2.0
"""Seconds that a stopping server waits for the store to remove its records. Without that, others notice its end later."""
_CALL: Final = "call"
_MEMBERS: Final = "members/"

_LOG: Final = get_logger(__name__)


class CallFolder:
    """Follows the records of a folder, and takes part in its roll calls for one server.

    `on_change` is awaited after each change. In the folder of earlier releases, `is_former`, keys that no server wrote are left alone.

    Raises:
        BackendError: from every method, when the store does not answer.
    """

    def __init__(
        self, backend: Backend, folder: str, own: str, on_change: Callable[[], Awaitable[None]], *, is_former: bool = False
    ) -> None:
        """Create the follower of a folder, for the server with the id `own`."""
        self.members: dict[str, Member] = {}
        self._backend = backend
        self._folder = folder
        self._own = own
        self._on_change = on_change
        self._is_former = is_former
        self._called = 0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the records, and follow them until `close`."""
        revision = await self._list()
        following = list_and_watch(self._list, self._watch, revision, log=_LOG, failed="watch of the servers' records failed, retrying")
        self._task = asyncio.create_task(following, name="replicas")

    async def close(self) -> None:
        """Stop, and remove the record of this server if the store answers soon."""
        if self._task is None:
            return
        await end_tasks(self._task)
        with suppress(BackendError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                pair, _ = await self._backend.get(self._key(self._own))
                if pair is not None:
                    await self._backend.delete(pair.key, expected=pair.revision)

    @property
    def has_former(self) -> bool:
        """Report whether a server has a record here only."""
        return any(not member.is_copy for member in self.members.values())

    @property
    def has_own(self) -> bool:
        """Report whether the folder has a record of this server."""
        return self._own in self.members

    @property
    def is_answer_due(self) -> bool:
        """Report whether this server has not answered the last roll call, or others took it for dead."""
        return not self._has_answered(self._called)

    async def answer(self, replica: Replica) -> None:
        """Write the record of this server as its answer to the last roll call."""
        key, value = self._key(self._own), replica.record(self._called, is_copy=self._is_former)
        pair, _ = await self._backend.get(key)
        if pair is None:
            await self._backend.create(key, value)
        elif pair.value != value:
            await self._backend.update(key, value, expected=pair.revision)

    async def call(self, seconds: float) -> Sequence[Member]:
        """Call the roll. Return the records of the servers that answer in time, this one included, and remove those of the others.

        Raises:
            UnavailableError: the watch of the records lags.
        """
        called = await self._ask()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._is_awaited and (self._silent(called) or not self._has_answered(called)):
                    self._changed.clear()
                    await self._changed.wait()
        if self._is_awaited and not self._has_answered(called):
            # the answers of others would arrive by the same watch
            raise UnavailableError("the watch of the servers' records lags")
        for member in self._silent(called):
            _LOG.info("server is gone", server=member.replica.id, address=member.replica.address)
            await self._backend.delete(self._key(member.replica.id), expected=member.revision)
        return [member for member in self.members.values() if member.answered >= called]

    async def _ask(self) -> int:
        """Write a roll call. Return its revision, or that of another server's later one."""
        key, value = self._folder + _CALL, orjson.dumps({"by": self._own}) + b"\n"
        pair, _ = await self._backend.get(key)
        result = await (self._backend.create(key, value) if pair is None else self._backend.update(key, value, expected=pair.revision))
        return result.revision if result.current is None else result.current.revision

    @property
    def _is_awaited(self) -> bool:
        """Report whether answers matter: those of earlier releases do as long as one runs, and this server answers as long."""
        return not self._is_former or self.has_former

    def _silent(self, called: int) -> list[Member]:
        return [member for member in self.members.values() if member.answered < called]

    def _has_answered(self, called: int) -> bool:
        member = self.members.get(self._own)
        return member is not None and member.answered >= called

    async def _list(self) -> int:
        """Read all records, and answer. Return the revision."""
        found = await self._backend.list(self._folder)
        self.members.clear()
        for pair in found.items:
            self._put(pair)
        await self._announce()
        return found.revision

    async def _watch(self, revision: int) -> None:
        async for batch in self._backend.watch(self._folder, start=revision + 1):
            for event in batch.events:
                if event.value is None:
                    self.members.pop(self._name(event.key), None)
                else:
                    self._put(KeyValue(event.key, event.value, event.revision))
            if batch.events:
                await self._announce()

    async def _announce(self) -> None:
        self._changed.set()
        await self._on_change()

    def _put(self, pair: KeyValue) -> None:
        if self._is_former and not is_server_record(pair.value):
            return
        if pair.key == self._folder + _CALL:
            self._called = pair.revision
        else:
            name = self._name(pair.key)
            self.members[name] = read_member(name, pair)

    def _key(self, name: str) -> str:
        return f"{self._folder}{_MEMBERS}{name}"

    def _name(self, key: str) -> str:
        return key.removeprefix(self._folder + _MEMBERS)
