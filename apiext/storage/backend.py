"""The bytes Backend: the part of etcd's API that Kubernetes uses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self


@dataclass(slots=True)
class KeyValue:
    """A key's value and the revision that wrote it."""

    key: str
    value: bytes
    revision: int
    stale: bool = False
    """Whether the value must be written again even without a change: it is encrypted with an old key, or should be encrypted."""


class UnreadableValue(bytes):
    """A stored value that could not be decrypted, as it is stored, with the reason."""

    problem: str

    def __new__(cls, value: bytes, problem: str) -> Self:
        """Return a value with the reason."""
        self = super().__new__(cls, value)
        self.problem = problem
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[bytes, str]]:
        # worker processes get values
        return type(self), (bytes(self), self.problem)


@dataclass(frozen=True, slots=True)
class RangeResult:
    """A part of a key range at one revision."""

    items: Sequence[KeyValue]
    revision: int
    """The store's revision at the read."""
    count: int
    """Number of keys from the start to the end of the range, beyond the limit too."""

    @property
    def more(self) -> bool:
        """Report whether the limit cut the range."""
        return self.count > len(self.items)


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition of a write on another key."""

    key: str
    expected: int
    """The required revision of the key; 0 if the key must be absent."""
    is_large: bool = False
    """Whether the key's value is large: a backend that would read it for this may look at a small companion instead."""


@dataclass(slots=True)
class WriteResult:
    """The outcome of a conditional write."""

    succeeded: bool
    revision: int
    """The revision of the write. If nothing was written, the store's revision."""
    current: KeyValue | None
    """The current value if the key's revision was not the expected one (None: absent). None after a write."""
    guard_failed: bool = False
    """Whether the write failed because of the guard although the key had the expected revision. `current` is then None."""


@dataclass(slots=True)
class BackendEvent:
    """One change of one key."""

    key: str
    revision: int
    value: bytes | None
    """The new value; None for a deletion."""
    previous: KeyValue | None
    """The replaced value (None: created). Set for watches with `previous`."""

    @property
    def size(self) -> int:
        """Return the size of both values in bytes."""
        return len(self.value or b"") + (len(self.previous.value) if self.previous is not None else 0)


@dataclass(slots=True)
class WatchBatch:
    """Changes in revision order. The watch has now sent every change up to `revision`."""

    events: Sequence[BackendEvent]
    revision: int


class BackendError(Exception):
    """The backend did not answer. The outcome of a write is unknown. No exception of a client library passes this boundary."""


class UnavailableError(BackendError):
    """The backend did not answer before the deadline, or there is no connection."""


class NotStreamedError(UnavailableError):
    """The server does not stream ranges. It serves pages."""


class ValueTooLargeError(BackendError):
    """The backend refuses a value because of its size. Nothing was written."""


class UntransformableError(BackendError):
    """The value cannot be encrypted. Nothing was written."""


class AlarmsError(BackendError):
    """The backend refuses writes because of its alarms, whose kinds are those of etcd, such as NOSPACE."""

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__(f"etcd refuses writes because of its alarms: {', '.join(kinds)}")
        self.kinds = tuple(kinds)


class ProgressUnreliableError(BackendError):
    """The backend may report progress too early, or does not know yet whether it does."""


class CompactedError(BackendError):
    """The requested revision is compacted."""

    def __init__(self, compact_revision: int) -> None:
        super().__init__(f"the required revision has been compacted: {compact_revision}")
        self.compact_revision = compact_revision


class HistoryLostError(CompactedError):
    """The store's data went back, or other data took its place: no revision that was read before leads to its present state."""

    def __init__(self, reason: str, *, is_known: bool = False) -> None:
        """Give the reason. `is_known`: the caller of `Backend.start_over` knows it already."""
        super().__init__(0)
        self.args = (reason,)
        self.is_known = is_known


class FutureRevisionError(BackendError):
    """The requested revision is greater than the store's revision."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the required revision is a future revision; current: {current}")
        self.current = current


class Backend(Protocol):
    """Stores bytes under string keys, with one strictly increasing revision.

    Every call is linearizable and has its own deadline. Keys are complete (with the prefix). A prefix ends with "/" and matches
    all keys that begin with it. A guarded write commits only if its guard holds in the same transaction.

    Raises:
        BackendError: from every method, when the store does not serve the call; UnavailableError after the deadline.
    """

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Return the latest value of a key, and the store's revision."""
        ...

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Return the keys of a prefix in byte order, from `start` (inclusive, "" for the first), at a revision (0: the latest).

        Raises:
            CompactedError: the revision is compacted.
            FutureRevisionError: the store has not reached the revision.
        """
        ...

    def stream(self, prefix: str, *, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]] | None:
        """Return the keys of a prefix from `start` on at a revision, as they arrive; None if pages (`list`) are as fast.

        It may end early with UnavailableError, or NotStreamedError from the beginning: then continue with pages.

        Raises:
            CompactedError: the revision was compacted meanwhile.
        """
        ...

    async def count(self, prefix: str) -> int:
        """Return the number of keys with the prefix."""
        ...

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Write a key if it is absent.

        Raises:
            ValueTooLargeError: the backend refuses the value.
        """
        ...

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Replace the value of a key if it has the expected revision.

        Raises:
            ValueTooLargeError: the backend refuses the value.
        """
        ...

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Delete a key if it has the expected revision. The deletion has its own revision."""
        ...

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Watch a prefix from a revision, inclusive. With `start` 0 the watch begins now; its first batch is empty and has the revision.

        Without `previous`, replaced values may be missing. The watch survives reconnects without a gap.
        Batches without events report progress: after `request_progress`, and periodically.

        Raises:
            CompactedError: `start`, the revision to resume from, or a requested replaced value is compacted.
            HistoryLostError: the store's data was replaced.
        """
        ...

    async def request_progress(self) -> None:
        """Request a batch with the current revision on every open watch.

        Raises:
            ProgressUnreliableError: such a batch may come before changes up to its revision. The backend requests none.
        """
        ...

    async def revision(self) -> int:
        """Return the store's latest revision, linearizable."""
        ...

    def known_revision(self) -> int | None:
        """Return the store's latest revision if no request is needed for it, else None."""
        ...

    async def compact(self, revision: int) -> None:
        """Compact the history up to a revision. The latest values stay.

        Raises:
            FutureRevisionError: the store has not reached the revision.
        """
        ...

    async def compact_aged(self) -> None:
        """Compact up to the revision that was the latest at the previous call.

        Call it once an interval. In each interval, one of the servers on a store compacts.
        """
        ...

    async def healthy(self) -> None:
        """Return if the backend answers.

        Raises:
            BackendError: it does not answer.
        """
        ...

    async def writable(self) -> None:
        """Return unless the backend answers reads, but is known to refuse writes.

        Raises:
            AlarmsError: etcd has alarms.
            BackendError: writes fail. The message has the reason.
        """
        ...

    def check_history(self) -> None:
        """Check, without a request, that the store's data is not known to have been replaced. Takes microseconds; call it once a second.

        Raises:
            HistoryLostError: it was. Call `start_over`.
        """
        ...

    async def start_over(self) -> int:
        """Take the store's present data, whatever was read before, and return its revision. End open watches with HistoryLostError.

        Raises:
            BackendError: the data cannot be read. Call it again.
        """
        ...

    async def close(self) -> None:
        """Close connections and end open watches."""
        ...


def describe_store(file: Path, prefix: str, servers: Sequence[str] | None) -> str:
    """Return a description of a store: an etcd by its servers or, without them, the file of an embedded store."""
    return f"SQLite in {file}" if servers is None else f"etcd at {', '.join(servers)}, prefix {prefix}"
