"""Finds the live servers on a store, and the version in which each writes the instances of a definition.

A server that writes objects watches `<prefix>/apiext/replicas/`. A roll call writes the key `call` there. Every live server then
writes its own record with its current state. Servers that do not answer in time count as gone. Without a roll call nothing is written.
A server that lags behind a change shows it in its record. Clocks are never compared.

Servers of earlier releases do the same in `<prefix>/apiext.dev/replicas/`. While one of them has a record there, so has this server, and
each roll call is called in both folders. Without one, the former folder is only watched: an earlier release may be started again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.base.meta import time
from apiext.base.scheduling.tasks import SharedWork, end_tasks
from apiext.storage.backend import BackendError
from apiext.storage.replicas import server_keys
from apiext.storage.replicas.call_folder import CallFolder
from apiext.storage.replicas.former_records import FormerRecords
from apiext.storage.replicas.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from apiext.storage.backend import Backend
    from apiext.storage.replicas.replica import ReplicaEncoding

ANSWER_SECONDS: Final = 10.0
"""Seconds for servers to answer a roll call. Later ones count as dead until they answer the next one."""


class Replicas:
    """Describes this server to the others on the store, and finds out which of them live.

    If one process owns the store, nothing is written but what an earlier release left, and every roll call returns this process.
    """

    def __init__(
        self,
        backend: Backend,
        prefix: str,
        *,
        address: str,
        release: str,
        encodings: Callable[[], Mapping[str, ReplicaEncoding]],
        is_sole: bool,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        """Create the register. `encodings` returns the server's current versions. `is_sole`: no other process uses the store."""
        self.id = secrets.token_hex(8)
        self._address = address
        self._release = release
        self._encodings = encodings
        self._is_sole = is_sole
        self._seconds = answer_seconds
        self._started = time.now()
        self._folder = CallFolder(backend, server_keys.root(prefix) + server_keys.REPLICAS, self.id, self._answer_if_due)
        former = server_keys.former_root(prefix) + server_keys.REPLICAS
        self._former = CallFolder(backend, former, self.id, self._join_or_leave, is_former=True)
        self._records = FormerRecords(backend, prefix)
        self._calls = SharedWork[Sequence[Replica]]()
        self._checking: asyncio.Task[None] | None = None

    @property
    def has_former(self) -> bool:
        """Report whether a server of an earlier release has a record, and has answered the last roll call."""
        return self._former.has_former

    async def start(self) -> None:
        """Record this server, and answer later roll calls. Move the records of earlier releases unless one runs.

        Raises:
            BackendError: the store does not answer.
        """
        if self._is_sole:
            await self._records.move()
            return
        await self._folder.start()
        await self._former.start()
        if self.has_former:
            # they may be gone for long
            self._checking = asyncio.create_task(self._check(), name="replicas-of-earlier-releases")
        else:
            await self._records.move()

    async def close(self) -> None:
        """Stop, and remove the records of this server if the store answers soon."""
        if self._checking is not None:
            await end_tasks(self._checking)
        await self._former.close()
        await self._folder.close()

    async def roll_call(self) -> Sequence[Replica]:
        """Return the live servers with their current state, this one included. Wait for servers that have died.

        Raises:
            BackendError: the store does not answer, or its watch lags.
        """
        if self._is_sole:
            return [self._describe()]
        return await self._calls.run("", self._call)

    async def _call(self) -> Sequence[Replica]:
        if not self.has_former:
            return [member.replica for member in await self._folder.call(self._seconds)]
        present, former = await asyncio.gather(self._folder.call(self._seconds), self._former.call(self._seconds))
        if not self._former.has_former:
            # the call may have come after they had gone
            await self._records.move()
        return [*(member.replica for member in present), *(member.replica for member in former if not member.is_copy)]

    async def _check(self) -> None:
        with suppress(BackendError):
            await self.roll_call()

    async def _answer_if_due(self) -> None:
        if self._folder.is_answer_due:
            await self._folder.answer(self._describe())

    async def _join_or_leave(self) -> None:
        """Take part in the roll calls of earlier releases while such a server has a record, and move what they left at their end."""
        if self.has_former:
            if self._former.is_answer_due:
                await self._former.answer(self._describe())
        elif self._former.has_own:
            # with the record of this server
            await self._records.move()

    def _describe(self) -> Replica:
        return Replica(self.id, self._address, self._release, self._started, self._encodings())
