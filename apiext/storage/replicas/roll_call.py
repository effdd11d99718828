"""Finds the live servers on a store, and the version in which each writes the instances of a definition.

A server that writes objects watches `<prefix>/apiext.dev/replicas/`. A roll call writes the key `call` there. Every live server then
writes its own record with its current state. Servers that do not answer in time count as gone. Without a roll call nothing is written.
A server that lags behind a change shows it in its record. Clocks are never compared.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.meta import time
from apiext.meta.log import get_logger
from apiext.scheduling.backoff import Backoff
from apiext.scheduling.tasks import SharedWork, end_tasks
from apiext.storage.backend import BackendError, KeyValue, UnavailableError
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from apiext.storage.backend import Backend

ANSWER_SECONDS: Final = 10.0
"""Seconds for servers to answer a roll call. Later ones count as dead until they answer the next one."""
FAREWELL_SECONDS: Final = 2.0
"""Seconds that a stopping server waits for the store to remove its records. Without that, others notice its end later."""
_MIN_PAUSE_SECONDS: Final = 0.05
_MAX_PAUSE_SECONDS: Final = 5.0
_FOLDER: Final = "replicas/"
_CALL: Final = f"{_FOLDER}call"
_MEMBERS: Final = f"{_FOLDER}members/"

_LOG: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReplicaEncoding:
    """How a server writes the instances of a definition."""

    version: str
    """The version that it stores."""
    revision: int
    """Revision of the oldest state of the definition that it may still use for writes."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A server on the store, described by itself."""

    id: str
    """Unique for each start of a server."""
    address: str
    """URL of the server, for people to read."""
    release: str
    started: str
    """Time in RFC 3339."""
    encodings: Mapping[str, ReplicaEncoding]
    """By the names of definitions; empty for a server of another release with another form of records."""

    def writes(self, definition: str, version: str, *, since: int) -> bool:
        """Report whether the server writes instances in a version, with the definition at the revision `since` or a later one."""
        encoding = self.encodings.get(definition)
        return encoding is not None and encoding.version == version and encoding.revision >= since


@dataclass(frozen=True, slots=True)
class _Member:
    """A stored record."""

    replica: Replica
    answered: int
    """Revision of the last answered roll call."""
    revision: int


class Replicas:
    """Describes this server to the others on the store, and finds out which of them live.

    If one process owns the store, nothing is written, and every roll call returns this process.
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
        self._backend = backend
        self._records = HostRecords(backend, prefix)
        self._address = address
        self._release = release
        self._encodings = encodings
        self._is_sole = is_sole
        self._seconds = answer_seconds
        self._started = time.now()
        self._members: dict[str, _Member] = {}
        self._called = 0
        self._changed = asyncio.Event()
        self._calls = SharedWork[Sequence[Replica]]()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Record this server, and answer later roll calls.

        Raises:
            BackendError: the store does not answer.
        """
        if not self._is_sole:
            revision = await self._list()
            self._task = asyncio.create_task(self._follow(revision), name="replicas")

    async def close(self) -> None:
        """Stop, and remove the record of this server if the store answers soon."""
        if self._task is None:
            return
        await end_tasks(self._task)
        with suppress(BackendError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                pair, _ = await self._backend.get(self._key(self.id))
                if pair is not None:
                    await self._backend.delete(pair.key, expected=pair.revision)

    async def roll_call(self) -> Sequence[Replica]:
        """Return the live servers with their current state, this one included. Wait for servers that have died.

        Raises:
            BackendError: the store does not answer, or its watch lags.
        """
        if self._is_sole:
            return [self._describe()]
        return await self._calls.run("", self._call)

    # --- asking ---------------------------------------------------------------------------------------------------------

    async def _call(self) -> Sequence[Replica]:
        called = await self._ask()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                while self._silent(called) or not self._has_answered(self.id, called):
                    self._changed.clear()
                    await self._changed.wait()
        if not self._has_answered(self.id, called):
            # the answers of others would arrive by the same watch
            raise UnavailableError("the watch of the servers' records lags")
        for member in self._silent(called):
            _LOG.info("server is gone", server=member.replica.id, address=member.replica.address)
            await self._backend.delete(self._key(member.replica.id), expected=member.revision)
        return [member.replica for member in self._members.values() if member.answered >= called]

    async def _ask(self) -> int:
        """Write a roll call. Return its revision, or that of another server's later one."""
        key, value = self._records.key(_CALL), orjson.dumps({"by": self.id}) + b"\n"
        pair, _ = await self._backend.get(key)
        result = await (self._backend.create(key, value) if pair is None else self._backend.update(key, value, expected=pair.revision))
        return result.revision if result.current is None else result.current.revision

    def _silent(self, called: int) -> list[_Member]:
        return [member for member in self._members.values() if member.answered < called]

    def _has_answered(self, name: str, called: int) -> bool:
        member = self._members.get(name)
        return member is not None and member.answered >= called

    # --- answering ------------------------------------------------------------------------------------------------------

    async def _follow(self, revision: int) -> None:
        """Follow the records after a revision and answer roll calls until cancelled. List them again after each failure."""
        backoff = Backoff(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        while True:
            try:
                if revision < 0:
                    revision = await self._list()
                backoff.reset()
                await self._watch(revision)
            except BackendError as error:
                _LOG.warning("watch of the servers' records failed, retrying", error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- a server that does not answer is taken for dead
                _LOG.exception("watch of the servers' records failed, retrying", retry_after=backoff.next)
            await backoff.pause()
            revision = -1

    async def _list(self) -> int:
        """Read all records, and answer. Return the revision."""
        found = await self._backend.list(self._records.key(_FOLDER))
        self._members.clear()
        for pair in found.items:
            self._put(pair)
        self._changed.set()
        await self._answer_if_due()
        return found.revision

    async def _watch(self, revision: int) -> None:
        async for batch in self._backend.watch(self._records.key(_FOLDER), start=revision + 1):
            for event in batch.events:
                if event.value is None:
                    self._members.pop(self._name(event.key), None)
                else:
                    self._put(KeyValue(event.key, event.value, event.revision))
            if batch.events:
                self._changed.set()
                await self._answer_if_due()

    def _put(self, pair: KeyValue) -> None:
        if pair.key == self._records.key(_CALL):
            self._called = pair.revision
        else:
            name = self._name(pair.key)
            self._members[name] = _member(name, pair)

    async def _answer_if_due(self) -> None:
        """Write this server's record if it has not answered the last roll call, or if others took it for dead."""
        if not self._has_answered(self.id, self._called):
            await self._answer()

    async def _answer(self) -> None:
        replica = self._describe()
        record: dict[str, Any] = {"address": replica.address, "release": replica.release, "started": replica.started}
        record["answered"] = self._called
        record["encodings"] = {
            name: {"version": encoding.version, "revision": encoding.revision} for name, encoding in replica.encodings.items()
        }
        await self._records.put(f"{_MEMBERS}{self.id}", record)

    def _describe(self) -> Replica:
        return Replica(self.id, self._address, self._release, self._started, self._encodings())

    def _key(self, name: str) -> str:
        return self._records.key(f"{_MEMBERS}{name}")

    def _name(self, key: str) -> str:
        return key.removeprefix(self._records.key(_MEMBERS))


def _member(name: str, pair: KeyValue) -> _Member:
    """Return a stored record. If another release wrote it in a different form, only its answer to roll calls is needed."""
    answered, replica = 0, Replica(name, "", "", "", {})
    try:
        record = orjson.loads(pair.value)
        answered = int(record["answered"])
        encodings = {name: ReplicaEncoding(one["version"], one["revision"]) for name, one in record["encodings"].items()}
        replica = Replica(name, record["address"], record["release"], record["started"], encodings)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        _LOG.warning("invalid server record ignored", server=name, error=str(error))
    return _Member(replica, answered, pair.revision)
