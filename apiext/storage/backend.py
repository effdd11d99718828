"""The seam of bytes: what a store must do to hold objects (the part of etcd's API that Kubernetes uses)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key's value at the revision that wrote it."""

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class RangeResult:
    """A part of a key range, all at one revision."""

    items: Sequence[KeyValue]
    revision: int
    """The store's revision at which the range was read."""
    count: int
    """Number of keys from the range's start to its end, also those beyond the limit."""

    @property
    def more(self) -> bool:
        """Whether the limit cut the range."""
        return self.count > len(self.items)


@dataclass(frozen=True, slots=True)
class Guard:
    """Another key on which a write depends."""

    key: str
    expected: int
    """The revision that it must have (0: it must be absent)."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of a conditional write."""

    succeeded: bool
    revision: int
    """The write's own revision; the store's when nothing was written."""
    current: KeyValue | None
    """What stood in the way of a write, the key not being at the expected revision (None: nothing); None after a write."""
    guard_failed: bool = False
    """The guard did not hold, whatever else holds; `current` then tells nothing."""


@dataclass(frozen=True, slots=True)
class BackendEvent:
    """One change of one key."""

    key: str
    revision: int
    value: bytes | None
    """None: the key was deleted."""
    previous: KeyValue | None
    """What the change replaced (None: created). Given, unless compacted away, to those who ask for it."""


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """Changes in the order of revisions; all changes up to `revision` have been sent once this has been."""

    events: Sequence[BackendEvent]
    revision: int


class BackendError(Exception):
    """The backend could not answer; the outcome of a write is unknown. Nothing of the underlying library leaks past this."""


class UnavailableError(BackendError):
    """No answer within the deadline, or no connection."""


class CompactedError(BackendError):
    """The revision asked for is older than what the store still has."""

    def __init__(self, compact_revision: int) -> None:
        super().__init__(f"the required revision has been compacted: {compact_revision}")
        self.compact_revision = compact_revision


class FutureRevisionError(BackendError):
    """The revision asked for has not been reached."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the required revision is a future revision; current: {current}")
        self.current = current


class Backend(Protocol):
    """A store of bytes under string keys with one strictly increasing revision.

    Every call is linearizable and carries a deadline of its own; it raises UnavailableError when that passes.
    Keys are complete (with the prefix); a prefix ends with "/" and matches all keys that begin with it.
    A write with a guard is done only if the guard's key too is at its revision, at the same moment.
    """

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """The key's latest value and the store's revision."""
        ...

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Keys of a prefix in byte order, from `start` (inclusive; "" for the first), at a revision (0: the latest).

        Raises CompactedError and FutureRevisionError.
        """
        ...

    async def count(self, prefix: str) -> int:
        """Number of keys with the prefix."""
        ...

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Write the key if it is absent."""
        ...

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Replace the value if the key's revision is the expected one."""
        ...

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Remove the key if its revision is the expected one. The deletion has a revision of its own."""
        ...

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        """Changes of a prefix from revision `start` on, inclusive (0: from now on; the first batch then is empty and names the revision).

        `previous` asks for what each change replaced; who does not ask may be told or not.
        Survives reconnects without a gap. Raises CompactedError when `start` (or the point of resumption) is gone.
        Batches without events tell progress: after `request_progress`, and now and then by themselves.
        """
        ...

    async def request_progress(self) -> None:
        """Ask every open watch for a batch that names the revision it has reached."""
        ...

    async def revision(self) -> int:
        """The store's latest revision, linearizable."""
        ...

    def known_revision(self) -> int | None:
        """Like `revision`, where the answer is known without asking anybody; None elsewhere."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget what is older than a revision; the latest values stay."""
        ...

    async def compact_aged(self) -> None:
        """Compact up to what was the latest revision at the call before; called once in an interval.

        Of several servers on one store, one does it in each interval.
        """
        ...

    async def healthy(self) -> None:
        """Return if the backend answers; raise BackendError otherwise."""
        ...

    async def close(self) -> None:
        """Release everything; open watches end."""
        ...
