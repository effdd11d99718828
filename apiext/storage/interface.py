"""The seam of objects: the typed Store above a Backend of bytes (apiserver pkg/storage/interfaces.go)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from apiext.meta import json_codec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from apiext.meta.errors import StatusError
    from apiext.meta.gvk import GroupVersionKind
    from apiext.meta.json_codec import Object
    from apiext.meta.selectors import FieldSelector, LabelSelector
    from apiext.storage.write_guards import WriteGuard


class Codec(Protocol):
    """How objects of one resource in one version become stored bytes and the other way round.

    Compared by identity: a changed CRD brings new codecs, and what was rendered with the old ones is dropped
    when nobody holds them any more. Caches refer to codecs weakly: one with __slots__ needs "__weakref__" among them.
    """

    @property
    def gvk(self) -> GroupVersionKind:
        """The group, version and kind of this codec's objects."""
        ...

    def encode(self, obj: Object) -> bytes:
        """The object (of this codec's version) as it is stored: storage version, no resourceVersion, sorted keys, final newline."""
        ...

    def decode(self, data: bytes) -> Object:
        """Stored bytes as an object of this version, pruned and defaulted. Raises ValueError when they cannot be understood."""
        ...

    def reread(self, obj: Object, data: bytes) -> Object:
        """What `decode` gives for the data that `encode` has just made of an object.

        It may share members with that object, but not the metadata.
        """
        ...

    def fields(self, obj: Object) -> dict[str, str]:
        """The selectable fields of a decoded object (metadata.name, metadata.namespace and the CRD's own)."""
        ...


class Transformer(Protocol):
    """Turns values into what the backend holds (encryption); the key is authenticated data."""

    def to_storage(self, data: bytes, key: str) -> bytes:
        """Bytes for the backend."""
        ...

    def from_storage(self, data: bytes, key: str) -> tuple[bytes, bool]:
        """The value, and whether it should be written anew (stale)."""
        ...


class Item:
    """An object as it is read: its revision and its JSON in the codec's version, rendered once and shared.

    `data` has resourceVersion set and no final newline. Never modify what `object()` gave to somebody else: each call parses anew.
    """

    __slots__ = ("data", "fields", "key", "labels", "revision", "row")

    def __init__(self, *, key: str, revision: int, data: bytes, labels: dict[str, str], fields: dict[str, str]) -> None:
        self.key = key
        self.revision = revision
        self.data = data
        self.labels = labels
        self.fields = fields
        self.row: object = None
        """What whoever makes tables keeps of this object."""

    def object(self) -> Object:
        """The decoded object, the caller's own."""
        obj: Object = json_codec.loads(self.data)
        return obj


class EventType(StrEnum):
    """Types of watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or watch wants: selectors, or everything."""

    labels: LabelSelector | None = None
    fields: FieldSelector | None = None

    def matches(self, labels: dict[str, str], fields: dict[str, str]) -> bool:
        """Whether an object with these labels and selectable fields is wanted."""
        return (self.labels is None or self.labels.matches(labels)) and (self.fields is None or self.fields.matches(fields))


EVERYTHING = Selection()


class VersionMatch(StrEnum):
    """resourceVersionMatch."""

    UNSET = ""
    EXACT = "Exact"
    NOT_OLDER_THAN = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list. `resource_version` is as the client sent it: "" most recent, "0" any, a number by `match`."""

    selection: Selection = EVERYTHING
    resource_version: str = ""
    match: VersionMatch = VersionMatch.UNSET
    limit: int = 0
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class ListResult:
    """Items at one revision, in key order."""

    items: Sequence[Item]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What to watch.

    `resource_version`: "" from now on, after synthetic ADDED events for what exists; "0" likewise from any state;
    a number from there on.
    """

    selection: Selection = EVERYTHING
    resource_version: str = ""
    match: VersionMatch = VersionMatch.UNSET
    send_initial_events: bool | None = None
    allow_bookmarks: bool = False
    timeout: float = 0.0
    """Seconds after which the caller will end the watch (0: unknown); a bookmark is sent shortly before."""


class Event:
    """A watch event for one watcher's version; the wire line is made once and shared."""

    __slots__ = ("item", "line", "revision", "type")

    def __init__(self, *, type: EventType, item: Item | None, revision: int, line: bytes) -> None:
        self.type = type
        self.item = item
        """None for BOOKMARK and ERROR; for DELETED the last state, with the revision of the deletion."""
        self.revision = revision
        self.line = line
        """`{"type":"ADDED","object":{...}}` and a newline, as it goes out in JSON."""


class Watch(Protocol):
    """A running watch; iterate it for batches of events, each a list that is never empty.

    Ends after an ERROR event, or when closed or when the watcher was too slow.
    """

    def __aiter__(self) -> AsyncIterator[list[Event]]: ...

    def fail(self, error: StatusError) -> None:
        """End it with a Status, after what has happened so far."""
        ...

    def close(self) -> None:
        """End it; safe to call twice."""
        ...


class StorageError(Exception):
    """A storage outcome that the registry maps to a Status; `key` tells the object."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{message}: {key}" if key else message)
        self.key = key
        self.message = message


class KeyNotFoundError(StorageError):
    """Nothing is stored under the key."""


class KeyExistsError(StorageError):
    """Something is stored under the key already."""


class ResourceVersionConflictError(StorageError):
    """A guarded write lost too often against other writers."""


class InvalidObjectError(StorageError):
    """A precondition (uid, resourceVersion) does not hold; the message is the reference's."""


class CorruptObjectError(StorageError):
    """The stored bytes cannot be understood (transformer or codec)."""


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold of the object that is about to be changed."""

    uid: str | None = None
    resource_version: str | None = None


class Store(Protocol):
    """The objects of one resource, typed: cached or straight from the backend, the same answers.

    Keys are relative to the resource ("namespace/name" or "name"). Reads raise errors.StatusError for what the client
    is to blame for (expired or too large resourceVersion, bad continue token), StorageError or BackendError otherwise.
    """

    async def create(self, key: str, obj: Object, codec: Codec, *, dry_run: bool = False) -> Item:
        """Store a new object; raises KeyExistsError."""
        ...

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Raises KeyNotFoundError. resource_version "" is linearizable, "0" any state, a number not older than it."""
        ...

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Objects below a key prefix ("" for all, "namespace/")."""
        ...

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Changes below a key prefix ("" for all, "namespace/", or "namespace/name" for a single key)."""
        ...

    async def guaranteed_update(
        self,
        key: str,
        codec: Codec,
        update: Callable[[Object, int], Awaitable[Object]],
        *,
        preconditions: Preconditions | None = None,
        ignore_not_found: bool = False,
        dry_run: bool = False,
    ) -> tuple[Item, bool]:
        """Apply `update` until it wins against concurrent writers; the result, and whether it was created.

        `update` makes the new object from the existing one (its own copy) and its revision, and may be called again with a
        fresher state; with `ignore_not_found` an absent object is an empty dict at revision 0.
        The first try uses the cached state where there is one; an error or a conflict then is tried again with a fresh state.
        Nothing is written when the encoded object is unchanged. Raises KeyNotFoundError, InvalidObjectError, and what `update` raises.
        """
        ...

    async def delete(
        self,
        key: str,
        codec: Codec,
        *,
        preconditions: Preconditions | None = None,
        validate: Callable[[Object], Awaitable[None]] | None = None,
        dry_run: bool = False,
    ) -> Item:
        """Remove an object and give its last state, with the deletion's revision. Raises KeyNotFoundError, InvalidObjectError."""
        ...

    async def delete_unreadable(self, key: str, codec: Codec, *, dry_run: bool = False) -> None:
        """Remove an object that cannot be read. Raises KeyNotFoundError, and InvalidObjectError for one that can be."""
        ...

    def guard_writes(self, guard: WriteGuard) -> None:
        """Have every write from now on depend on something else, too; it raises what the guard raises."""
        ...

    async def count(self) -> int:
        """Number of objects, possibly a little stale."""
        ...
