"""From stored bytes to what readers get: the transformer, the codec, resourceVersion, and the JSON of items and events."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from apiext.meta import errors, json_codec
from apiext.storage.interface import CorruptObjectError, Event, EventType, Item

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupVersionKind
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Codec, Transformer

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"

# What a codec or transformer may raise on bytes that nobody meant for it.
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)


class Renderer:
    """Reads the values of one resource; `prefix` is the resource's, with a final slash, and stands before keys in errors."""

    __slots__ = ("_transformer", "prefix")

    def __init__(self, *, prefix: str, transformer: Transformer) -> None:
        self.prefix = prefix
        self._transformer = transformer

    def open(self, key: str, value: bytes) -> tuple[bytes, bool]:
        """The plain bytes of a stored value, and whether they should be written anew; raises CorruptObjectError."""
        try:
            return self._transformer.from_storage(value, self.prefix + key)
        except _UNREADABLE as error:
            why = f"data from the storage is not transformable revision=0: {error}"
            raise CorruptObjectError(self.prefix + key, why) from error

    def seal(self, key: str, data: bytes) -> bytes:
        """Plain bytes as the backend is to hold them."""
        return self._transformer.to_storage(data, self.prefix + key)

    def decode(self, codec: Codec, key: str, data: bytes, revision: int, *, source: Object | None = None) -> Object:
        """The object in stored bytes with its resourceVersion (none at revision 0); raises CorruptObjectError.

        `source` is the object that was encoded, where the bytes have just been made: reading them again may be spared then.
        """
        try:
            obj = codec.decode(data) if source is None else codec.reread(source, data)
            metadata = obj["metadata"]
            if revision:
                metadata["resourceVersion"] = str(revision)
            else:
                metadata.pop("resourceVersion", None)
        except _UNREADABLE as error:
            why = f"object not decodable revision={revision}: {error}"
            raise CorruptObjectError(self.prefix + key, why) from error
        return obj

    def item(self, codec: Codec, key: str, data: bytes, revision: int, *, source: Object | None = None) -> Item:
        """Stored bytes as an item; `source` as in `decode`; raises CorruptObjectError."""
        obj = self.decode(codec, key, data, revision, source=source)
        try:
            rendered, fields = tight(json_codec.dumps(obj)), codec.fields(obj)
        except _UNREADABLE as error:
            why = f"object not decodable revision={revision}: {error}"
            raise CorruptObjectError(self.prefix + key, why) from error
        return Item(key=key, revision=revision, data=rendered, labels=_labels(obj["metadata"]), fields=fields)


def tight(data: bytes) -> bytes:
    """The same bytes in memory of their own size: an encoder's buffer may be several times as large as what it wrote."""
    return bytes(memoryview(data))


def _labels(metadata: dict[str, Any]) -> dict[str, str]:
    labels = metadata.get("labels")
    if not isinstance(labels, dict):
        return {}
    # objects of one kind share most of their labels' values
    return {name: sys.intern(value) for name, value in labels.items() if type(value) is str}


def _token(revision: int) -> bytes:
    # uid follows resourceVersion among the sorted metadata of every object that was created through the API
    return b'"resourceVersion":"%d",' % revision


def without_revision(item: Item) -> bytes | None:
    """The item's JSON as it would be stored: without its resourceVersion, with a final newline.

    None when there is no resourceVersion to leave out. Only a guess when the first match is not in the metadata: compare.
    """
    token = _token(item.revision)
    position = item.data.find(token)
    return item.data[:position] + item.data[position + len(token) :] + b"\n" if position >= 0 else None


def with_revision(item: Item, revision: int) -> Item:
    """The item at another revision, for one whose `without_revision` is right."""
    data = item.data.replace(_token(item.revision), _token(revision), 1)
    return Item(key=item.key, revision=revision, data=data, labels=item.labels, fields=item.fields)


def event(type_: EventType, item: Item) -> Event:
    """An event about an object."""
    line = b'{"type":"%b","object":%b}\n' % (type_.encode(), item.data)
    return Event(type=type_, item=item, revision=item.revision, line=line)


def bookmark(gvk: GroupVersionKind, revision: int, *, initial_events_end: bool = False) -> Event:
    """A bookmark: an object of the watched kind that has nothing but a resourceVersion."""
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if initial_events_end:
        metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
    obj = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}
    line = b'{"type":"BOOKMARK","object":%b}\n' % json_codec.dumps(obj)
    return Event(type=EventType.BOOKMARK, item=None, revision=revision, line=line)


UNSHOWABLE = (CorruptObjectError, errors.StatusError)
"""What showing an object to a watcher may raise: it cannot be understood, or its converter refuses."""


def reason(error: CorruptObjectError | errors.StatusError) -> errors.StatusError:
    """What a watcher is told that cannot be shown an object."""
    return error if isinstance(error, errors.StatusError) else errors.internal(str(error))


def failure(error: errors.StatusError) -> Event:
    """The event that ends a watch with a Status."""
    line = b'{"type":"ERROR","object":%b}\n' % json_codec.dumps(error.status(), sort_keys=False)
    return Event(type=EventType.ERROR, item=None, revision=0, line=line)
