"""The typed Store above a Backend of bytes (apiserver pkg/storage/interfaces.go)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import GroupVersionKind
from apiext.base.meta.objectmeta.raw_metadata import read_metadata
from apiext.base.meta.objectmeta.sharding import UID, ShardSelector, namespace_hash, shard_hash
from apiext.base.meta.selectors import FieldSelector, LabelSelector
from apiext.base.scheduling.call_log import CallLog
from apiext.storage.backend import KeyValue, WriteResult
from apiext.storage.errors import CorruptObjectError


class Conversion(Protocol):
    """A codec's asynchronous conversion between stored objects and the codec's version."""

    async def from_storage(self, objects: Sequence[Object], log: CallLog | None = None) -> Sequence[Object | ValueError]:
        """Return decoded objects in the codec's version, in the same order; in the place of one that fails stands its error.

        The given objects may be changed. With a log, calls of other servers are made by it.
        """
        ...

    async def to_storage(self, obj: Object) -> Object:
        """Return an object in the storage version. Do not change the given one.

        Raises:
            StatusError: it cannot be converted.
        """
        ...


@dataclass(slots=True)
class EncodedObject:
    """An object ready to be stored."""

    data: bytes
    """The object in JSON; typed if stored in CBOR."""
    revision_at: int = -1
    """Offset at which a resourceVersion member turns `shown` or else `data` into the decoded and rendered object; -1 if unknown."""
    cbor: bytes = b""
    """The object in CBOR, if stored in CBOR."""
    is_checked: bool = False
    """Whether the object surely satisfies all keywords of its schema. `revision_at` is then known."""
    is_converted: bool = False
    """Whether the object is stored in another version than that of the codec. Its rendering may fail."""
    shown: bytes = b""
    """The rendered object without resourceVersion, with a final newline, if it differs from `data`."""

    @property
    def stored(self) -> bytes:
        """Return the bytes to store."""
        return self.cbor or self.data


@dataclass(slots=True)
class EncodedDraft:
    """An encoded object with all that its rendering needs but the resourceVersion, which only the write knows."""

    key: str
    encoded: EncodedObject
    labels: dict[str, str]
    fields: dict[str, str]


class RenderingJob(CallLog, Protocol):
    """Renders stored objects in a worker process. As a CallLog, it keeps the calls of an attempt on the event loop before that."""

    async def run(self) -> Sequence[RenderResult]:
        """Return the renderings in a worker process, with the answers that were kept; in the place of one that fails stands its error.

        Raises:
            StatusError: the worker process failed.
        """
        ...


class RemoteCodec(Protocol):
    """The copy of a codec in worker processes, which renders large objects."""

    def job(self, prefix: str, stored: Sequence[StoredBytes]) -> RenderingJob:
        """Return the job that renders stored objects of a resource with a key prefix."""
        ...

    async def check(self, prefix: str, stored: StoredBytes) -> CorruptObjectError | None:
        """Return the error of a stored object that cannot be decoded.

        Raises:
            StatusError: the worker process failed.
        """
        ...


class Codec(Protocol):
    """Encodes and decodes the objects of one resource in one version.

    Codecs are compared by identity: a changed CRD has new codecs. Caches refer to codecs weakly and drop their renderings with them: a
    codec with __slots__ needs "__weakref__" among them.
    """

    @property
    def gvk(self) -> GroupVersionKind:
        """Return group, version and kind of the objects."""

    @property
    def cbor(self) -> bool:
        """Return whether objects are stored in CBOR. Renderings are then JSON with typed numbers (`json_codec.dumps`)."""

    @property
    def conversion(self) -> Conversion | None:
        """Return the conversion after `decode` and before `encode`. None if these two convert by themselves."""

    @property
    def remote(self) -> RemoteCodec | None:
        """Return the copy in worker processes, which renders large objects. None without one."""

    def encode(self, obj: Object) -> EncodedObject:
        """Return an object as it is stored: in the storage version, without resourceVersion, with a final newline.

        The object has this codec's version, or with a `conversion` the storage version.
        """

    def decode(self, data: bytes) -> Object:
        """Return a stored object, pruned and defaulted: in this codec's version, or with a `conversion` in its own.

        Raises:
            ValueError: the data is not an object of this kind, or has a version that the CRD lacks.
        """

    def recall(self, obj: Object) -> None:
        """Remember an object as decoded and valid (its Item `is_checked`). Its update then needs checks of changed parts only."""

    def decode_unchanged(self, data: bytes) -> Object | None:
        """Return the result of `decode` if that equals the JSON in the data, without extra spaces. Return None otherwise or if unsure."""

    def fields(self, obj: Object) -> dict[str, str]:
        """Return the selectable fields of an object in this codec's version, with metadata.name and metadata.namespace."""


@dataclass(slots=True, kw_only=True, eq=False)
class Item:
    """A rendered object: its JSON in the codec's version, shared by all readers.

    `data` has a resourceVersion and no final newline; its numbers are typed if the codec stores CBOR.
    """

    key: str
    revision: int
    data: bytes
    labels: dict[str, str]
    fields: dict[str, str]
    row: Any = None
    """The cached table row."""
    is_checked: bool = False
    """See EncodedObject."""
    uid_hash: int | None = None
    """The hash of the uid; None until a shard selector needs it."""

    def object(self) -> Object:
        """Return the decoded object; each call parses a new one."""
        # checked objects have no float and no integer outside int64
        obj: Object = json_codec.loads(self.data, narrow=not self.is_checked)
        return obj

    def shard_hash(self, selector: ShardSelector) -> int:
        """Return the hash of the field by which a selector divides objects. That of the uid is computed once."""
        if selector.field != UID:
            return namespace_hash(self.fields.get("metadata.namespace", ""))
        found = self.uid_hash
        if found is None:
            uid = read_metadata(self.data).get("uid")
            found = self.uid_hash = shard_hash(uid if type(uid) is str else "")
        return found


StoredBytes = tuple[str, bytes, int]
"""The key of an object, relative to its resource, its stored bytes, and its revision."""
RenderResult = Item | CorruptObjectError | StatusError
"""A rendering, or the error that stands in its place."""


class EventType(StrEnum):
    """Types of watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Selection:
    """Label, field and shard selectors of a list or watch."""

    labels: LabelSelector | None = None
    fields: FieldSelector | None = None
    shard: ShardSelector | None = None

    @property
    def size(self) -> int:
        """Return the number of requirements. With 0, all objects are selected."""
        labels, fields = self.labels, self.fields
        return (labels.size if labels is not None else 0) + (fields.size if fields is not None else 0) + (self.shard is not None)

    def matches(self, item: Item) -> bool:
        """Report whether the selection includes an object."""
        labels, fields, shard = self.labels, self.fields, self.shard
        if shard is not None and not shard.contains(item.shard_hash(shard)):
            return False
        return (labels is None or labels.matches(item.labels)) and (fields is None or fields.matches(item.fields))


EVERYTHING = Selection()


class VersionMatch(StrEnum):
    """Values of resourceVersionMatch."""

    UNSET = ""
    EXACT = "Exact"
    NOT_OLDER_THAN = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of a list. `resource_version` is the client's: "" for the latest state, "0" for any, a number by `match`."""

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
    """Options of a watch.

    `resource_version` "" starts with synthetic ADDED events for the latest state, "0" with those for any state; a number starts
    after that revision.
    """

    selection: Selection = EVERYTHING
    resource_version: str = ""
    match: VersionMatch = VersionMatch.UNSET
    send_initial_events: bool | None = None
    allow_bookmarks: bool = False
    timeout: float = 0.0
    """Seconds until the caller ends the watch (0: unknown). A bookmark precedes that moment."""
    initialized: Callable[[], None] | None = None
    """Called once, after the reader has taken the initial events, or those since its revision."""


@dataclass(slots=True, kw_only=True, eq=False)
class Event:
    """A watch event in one version. Its line is rendered once and shared."""

    type: EventType
    item: Item | None
    """None for BOOKMARK and ERROR. For DELETED, the last state at the revision of the deletion."""
    revision: int
    line: bytes
    """The JSON line of the event: `{"type":"ADDED","object":{...}}` and a newline."""

    @property
    def size(self) -> int:
        """Return the bytes of the line."""
        return len(self.line)


class Watch(Protocol):
    """A running watch. Iterate it for batches of events, which are never empty.

    It ends after an ERROR event, after `close`, and if the watcher is too slow.
    """

    def __aiter__(self) -> AsyncIterator[list[Event]]: ...

    def fail(self, error: StatusError) -> None:
        """End the watch with a Status after the queued events."""
        ...

    def close(self) -> None:
        """End the watch; idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Preconditions:
    """Required metadata of the existing object."""

    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write. Each method of Store lists those that it uses."""

    preconditions: Preconditions | None = None
    """Conditions on the existing object. InvalidObjectError if one does not hold."""
    validate: Callable[[Object], Awaitable[None]] | None = None
    """Called with the existing object before a deletion, and before each retry. Its error ends the deletion. The object may have only
    apiVersion, kind and metadata, unless `whole` is set."""
    whole: bool = False
    ignore_not_found: bool = False
    """Create a missing object in an update."""
    dry_run: bool = False
    """Do everything except the write."""
    keep_managers: bool = False
    """Refuse an object that is too large only because of its managedFields. Otherwise it is written without them."""


DEFAULT_WRITE: Final = WriteOptions()


class ServerStore(Protocol):
    """The part of a store that the RemoteStores of worker processes use. Keys are those of the backend."""

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """See Backend.get."""
        ...

    async def commit(self, key: str, raw: bytes, expected: int, draft: EncodedDraft | Item | None) -> WriteResult:
        """Write bytes if the key has the expected revision (0: absent). `draft` is their rendering, but for the revision."""
        ...

    async def delete(self, key: str, expected: int) -> WriteResult:
        """See Backend.delete."""
        ...

    async def written(self, item: Item) -> None:
        """Process the rendering of what was written without a draft."""
        ...


class Store(Protocol):
    """The typed objects of one resource. The cached and the direct store give the same answers. Writes depend on the store's WriteGuard.

    Keys are relative to the resource ("namespace/name" or "name"). Reads raise StatusError for errors of the client (an
    expired or too large resourceVersion, a bad continue token), and StorageError or BackendError for the others.
    """

    @property
    def prefix(self) -> str:
        """Return the key prefix of the resource, with a final slash."""

    async def create(self, key: str, obj: Object, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Item:
        """Store a new object. Uses `dry_run`.

        Raises:
            KeyExistsError: the key exists.
        """
        ...

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Return one object: the latest state for resource_version "", any state for "0", one not older than a number.

        Raises:
            KeyNotFoundError: the key does not exist.
        """
        ...

    async def is_latest(self, key: str, revision: int) -> bool:
        """Return whether an object is known to have a revision now. False if only a read of it can tell.

        Raises:
            BackendError: the store does not answer.
        """
        ...

    def cached_item(self, key: str, codec: Codec) -> Item | None:
        """Return the result of `get` for resource_version "0", or None if that must be awaited."""
        ...

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Return the objects below a key prefix ("" for all, or "namespace/")."""
        ...

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Watch a key prefix ("" for all, or "namespace/") or a single key ("namespace/name")."""
        ...

    async def guaranteed_update(
        self, key: str, codec: Codec, update: Callable[[Object, int], Awaitable[Object]], options: WriteOptions = DEFAULT_WRITE
    ) -> tuple[Item, bool]:
        """Apply `update` until no other write interferes. Return the result, and whether it was created.

        Uses all options but `validate`. `update` makes the new object from the existing one (a
        copy) and its revision. The store may call it again with a newer state. With `ignore_not_found`, it gets an empty dict
        and revision 0 for an absent object. The first attempt uses the cached state if there is one; after an error or a
        conflict, the next one uses the state of the backend. An update that changes no stored byte writes nothing.

        Raises:
            KeyNotFoundError: the key does not exist.
            InvalidObjectError: a precondition does not hold.
            Exception: the errors of `update`, unchanged.
        """
        ...

    async def delete(self, key: str, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Item:
        """Delete an object and return its last state, with the revision of the deletion.

        Uses `preconditions`, `validate` and `dry_run`.

        Raises:
            KeyNotFoundError: the key does not exist.
            InvalidObjectError: a precondition does not hold.
            Exception: the errors of `validate`, unchanged.
        """
        ...

    async def delete_unreadable(self, key: str, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> None:
        """Delete an undecodable object. Uses `dry_run`.

        Raises:
            KeyNotFoundError: the key does not exist.
            InvalidObjectError: the object can be decoded.
        """
        ...

    def for_workers(self, codec: Codec) -> ServerStore:
        """Return what RemoteStores of this resource use, which write its objects with a like codec."""
        ...

    def keep_renderings(self, old: Codec, new: Codec) -> None:
        """Keep a codec's renderings for another codec that renders equally. The old codec is not used any more."""
        ...

    async def count(self) -> int:
        """Return the number of objects. The cached store's number may be stale."""
        ...
