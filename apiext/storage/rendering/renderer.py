"""Rendering of stored bytes for readers: codec, resourceVersion, and the JSON of items."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.objectmeta.raw_metadata import find_metadata
from apiext.base.scheduling.inline_work import unlimited_work
from apiext.storage import stored_object
from apiext.storage.backend import UnreadableValue
from apiext.storage.errors import CorruptObjectError, EncryptedObjectError
from apiext.storage.interface import Codec, EncodedDraft, EncodedObject, Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.errors import StatusError

DECODING_ERRORS: Final = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""Exceptions of codecs for bytes of another origin."""


@dataclass(frozen=True, slots=True)
class WaitingLimit:
    """How many readers of a version may wait while no batch of its objects ends."""

    seconds: float
    """Seconds without the end of a batch after which the limit holds."""
    readers: int
    refusal: Callable[[], StatusError]
    """Returns the error that further readers get."""


def written_item(draft: EncodedDraft, revision: int) -> Item:
    """Return an encoded object as it is rendered at a revision (0: none)."""
    return _written(draft.key, draft.encoded, revision, draft.labels, draft.fields)


def _written(key: str, encoded: EncodedObject, revision: int, labels: dict[str, str], fields: dict[str, str]) -> Item:
    """Return an encoded object, whose `revision_at` is known, as it is rendered at a revision (0: none)."""
    position, data = encoded.revision_at, encoded.shown or encoded.data
    token = _token(revision) if revision else b""
    rendered = b"%b%b%b" % (data[:position], token, data[position:-1])
    return Item(key=key, revision=revision, data=rendered, labels=labels, fields=fields, is_checked=encoded.is_checked)


class Renderer:
    """Reads and renders the values of one resource. `prefix` is the key prefix of the resource, with a final slash.

    `waiting` limits the readers that wait for batches of renderings.
    """

    __slots__ = ("prefix", "waiting")

    def __init__(self, prefix: str, waiting: WaitingLimit | None = None) -> None:
        self.prefix = prefix
        self.waiting = waiting

    def open(self, key: str, value: bytes) -> bytes:
        """Return a stored value (apiserver pkg/storage/value/encrypt/identity).

        Raises:
            EncryptedObjectError: the value is encrypted, or could not be decrypted.
        """
        if type(value) is bytes and not value.startswith(stored_object.ENCRYPTED_PREFIX):
            return value
        why = value.problem if isinstance(value, UnreadableValue) else stored_object.NOT_DECRYPTED
        raise EncryptedObjectError(self.prefix + key, f"data from the storage is not transformable revision=0: {why}")

    def decode(self, codec: Codec, key: str, data: bytes, revision: int) -> Object:
        """Return the object in stored bytes with its resourceVersion (none at revision 0), before the codec's conversion.

        Raises:
            CorruptObjectError: the bytes cannot be decoded.
        """
        try:
            obj = codec.decode(data)
            _set_revision(obj, revision)
        except DECODING_ERRORS as error:
            raise self.corrupt(key, revision, error) from error
        return obj

    async def read(self, codec: Codec, key: str, data: bytes, revision: int) -> Object:
        """Return the object in stored bytes in the codec's version.

        Raises:
            CorruptObjectError: the bytes cannot be decoded or converted.
        """
        obj = self.decode(codec, key, data, revision)
        if codec.conversion is None:
            return obj
        (converted,) = await codec.conversion.from_storage([obj])
        if isinstance(converted, ValueError):
            raise self.corrupt(key, revision, converted) from converted
        return converted

    def item(self, codec: Codec, key: str, data: bytes, revision: int) -> Item:
        """Render stored bytes, for a codec without conversion.

        Raises:
            CorruptObjectError: the bytes cannot be decoded.
        """
        obj = codec.decode_unchanged(data)
        if obj is not None:
            at = revision_place(data, obj["metadata"])
            if at > 0:
                rendered = b"%b%b%b" % (data[:at], _token(revision) if revision else b"", data[at:-1])
                return Item(key=key, revision=revision, data=rendered, labels=_labels(obj["metadata"]), fields=codec.fields(obj))
        return self.render(codec, key, self.decode(codec, key, data, revision), revision)

    def committed(self, codec: Codec, key: str, data: bytes, revision: int) -> Item:
        """Render stored bytes as `item`, after a write that must not begin again because of defaults that take long."""
        with unlimited_work():
            return self.item(codec, key, data, revision)

    async def read_item(self, codec: Codec, key: str, data: bytes, revision: int) -> Item:
        """Render stored bytes, for any codec. Raises as `read`."""
        if codec.conversion is None:
            return self.item(codec, key, data, revision)
        return self.render(codec, key, await self.read(codec, key, data, revision), revision)

    def written(self, codec: Codec, key: str, encoded: EncodedObject, revision: int, source: Object) -> Item:
        """Render an object that was just encoded (`source`) at the revision of its write (0: none), for a codec without conversion.

        Raises:
            CorruptObjectError: the bytes cannot be decoded.
        """
        if encoded.revision_at < 0:
            return self.committed(codec, key, encoded.data, revision)
        return _written(key, encoded, revision, _labels(source["metadata"]), codec.fields(source))

    def draft(self, codec: Codec, key: str, encoded: EncodedObject, source: Object) -> EncodedDraft | None:
        """Return an object that was just encoded (`source`) as it is rendered, None if only `item` can do so."""
        return EncodedDraft(key, encoded, _labels(source["metadata"]), codec.fields(source)) if encoded.revision_at >= 0 else None

    def render(self, codec: Codec, key: str, obj: Object, revision: int) -> Item:
        """Render a decoded object in the codec's version.

        Raises:
            CorruptObjectError: its JSON, labels or fields cannot be made.
        """
        try:
            rendered, fields = compact(json_codec.dumps(obj, typed=codec.cbor)), codec.fields(obj)
            labels = _labels(obj["metadata"])
        except DECODING_ERRORS as error:
            raise self.corrupt(key, revision, error) from error
        return Item(key=key, revision=revision, data=rendered, labels=labels, fields=fields)

    def corrupt(self, key: str, revision: int, error: Exception) -> CorruptObjectError:
        """Return the error for an object that a codec rejected."""
        return CorruptObjectError(self.prefix + key, f"object not decodable revision={revision}: {error}")


def _set_revision(obj: Object, revision: int) -> None:
    metadata = obj["metadata"]
    if revision:
        metadata["resourceVersion"] = str(revision)
    else:
        metadata.pop("resourceVersion", None)


def at_revision(item: Item, revision: int) -> Item:
    """Return the item with another resourceVersion, whatever its content."""
    place = find_metadata(item.data)
    if place is None:
        obj = item.object()
        _set_revision(obj, revision)
        data = compact(json_codec.dumps(obj, typed=json_codec.untyped(item.data) != item.data))
    else:
        # the rest of a large object need not be parsed
        metadata = json_codec.loads(item.data[place])
        _set_revision({"metadata": metadata}, revision)
        data = b"%b%b%b" % (item.data[: place.start], json_codec.dumps(metadata), item.data[place.stop :])
    return Item(key=item.key, revision=revision, data=data, labels=item.labels, fields=item.fields)


def as_stored(codec: Codec, item: Item) -> bytes:
    """Return what is stored for an object that a codec has rendered in the storage version."""
    shown = at_revision(item, 0)
    return stored_object.cbor(shown.object()) if codec.cbor else shown.data + b"\n"


def compact(data: bytes) -> bytes:
    """Return the bytes in memory of their own size; an encoder's buffer may be several times larger than its content."""
    return bytes(memoryview(data))


def _labels(metadata: dict[str, Any]) -> dict[str, str]:
    labels = metadata.get("labels")
    if not isinstance(labels, dict):
        return {}
    # objects of one kind share most label values
    try:
        return dict(zip(labels, map(sys.intern, labels.values()), strict=True))
    except TypeError:
        return {name: sys.intern(value) for name, value in labels.items() if type(value) is str}


def _token(revision: int) -> bytes:
    # uid follows resourceVersion in the sorted metadata of every object created through the API
    return b'"resourceVersion":"%d",' % revision


def revision_place(data: bytes, metadata: dict[str, Any]) -> int:
    """Return the offset of the uid in the metadata of stored bytes, where the resourceVersion belongs; -1 if it is not sure."""
    uid = metadata.get("uid")
    if type(uid) is not str or "resourceVersion" in metadata or not data.endswith(b"}\n"):
        return -1
    member = b'"uid":"%b"' % uid.encode()
    return data.find(member) if data.count(member) == 1 else -1


def without_revision(item: Item) -> bytes | None:
    """Return the item's JSON as stored, without resourceVersion and with a final newline; None if there is no resourceVersion.

    The first match may not be in the metadata: compare the result with the stored bytes.
    """
    before, found, after = item.data.partition(_token(item.revision))
    return b"%b%b\n" % (before, after) if found else None


def stored_size(item: Item) -> int:
    """Return the length of what `without_revision` returns for an item that has a resourceVersion."""
    return len(item.data) - len(_token(item.revision)) + 1


def with_revision(item: Item, revision: int) -> Item:
    """Return the item at another revision; only for an item whose `without_revision` equals the stored bytes."""
    data = item.data.replace(_token(item.revision), _token(revision), 1)
    return Item(key=item.key, revision=revision, data=data, labels=item.labels, fields=item.fields)
