"""Encoders of watch events as Table or metadata, and in Protobuf.

Mirrors apiserver pkg/endpoints/handlers (response.go, watchEmbeddedEncoder).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from apiext.endpoints.handlers.scope import Scope
from apiext.endpoints.responsewriters.event_encoder import EventEncoder
from apiext.endpoints.responsewriters.response import Piece
from apiext.endpoints.responsewriters.table import TableForm, partial_bytes, row_bytes, table_head
from apiext.endpoints.serializers import protobuf_encoder
from apiext.endpoints.serializers.negotiation import Convert
from apiext.meta import json_codec
from apiext.meta.json_codec import Object
from apiext.storage.interface import Event, EventType

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class EncodeError(Exception):
    """An object has no such representation. The watch ends without an error event, like the reference's."""


class RejectingEncoder(EventEncoder):
    """The encoder for PartialObjectMetadataList, which a single object can not have."""

    __slots__ = ()

    def line(self, event: Event) -> bytes:
        """Return the line of an ERROR event.

        Raises:
            EncodeError: the event has another type.
        """
        if event.type is EventType.ERROR:
            return event.line
        raise EncodeError


class TransformingEncoder(EventEncoder):
    """Encodes each object as a Table or as PartialObjectMetadata. Only the first table of a watch has column definitions."""

    __slots__ = ("_columns", "_convert", "_scope", "_table")

    def __init__(self, scope: Scope, convert: Convert, table: TableForm | None) -> None:
        self._scope = scope
        self._convert = convert
        self._table = table
        self._columns = scope.table.headers if scope.table is not None else b"null"

    def line(self, event: Event) -> bytes:
        """Return the JSON line of one event."""
        if event.type is EventType.ERROR:
            return event.line
        obj: Object = event.item.object() if event.item is not None else json_codec.loads(event.line)["object"]
        return b'{"type":"%b","object":%b}\n' % (event.type.value.encode(), self._transform(obj))

    def _transform(self, obj: Object) -> bytes:
        scope, form = self._scope, self._table
        if form is None or scope.table is None:
            return partial_bytes(_bookmark_metadata(obj), self._convert.version)
        metadata = obj.get("metadata") or {}
        head = table_head(form, {"resourceVersion": metadata.get("resourceVersion", "")}, self._columns)
        self._columns = b"null"
        if form.include == "None" and _INITIAL_EVENTS_END in (metadata.get("annotations") or {}):
            form = TableForm(form.version)
        return head + row_bytes(scope.table, _bookmark_metadata(obj), form, datetime.now(UTC)) + b"]}"


class ProtobufEncoder(EventEncoder):
    """Encodes events in Protobuf, with whole objects or PartialObjectMetadata; in a batch each follows its length in four bytes."""

    __slots__ = ("_partial", "_scope")

    def __init__(self, scope: Scope, convert: Convert | None) -> None:
        self._scope = scope
        self._partial = convert.version if convert is not None else ""

    def __call__(self, events: Sequence[Event]) -> Piece:
        """Return the frames of events."""
        messages = map(self.line, events)
        return Piece(b"".join([len(message).to_bytes(4, "big") + message for message in messages]))

    def line(self, event: Event) -> bytes:
        """Return one event without the length."""
        return protobuf_encoder.event_bytes(self._scope, event, self._partial)


def _bookmark_metadata(obj: Object) -> Object:
    """Return the object without the null creationTimestamp that bookmarks of built-in kinds have."""
    metadata = obj.get("metadata") or {}
    if metadata.get("creationTimestamp", "") is not None:
        return obj
    return {**obj, "metadata": {key: member for key, member in metadata.items() if key != "creationTimestamp"}}
