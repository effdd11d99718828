"""Encoders of watch events: Table or metadata, CBOR, and Protobuf.

Mirrors apiserver pkg/endpoints/handlers (response.go, watchEmbeddedEncoder).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from apiext.api.endpoints.handlers import protobuf_encoder
from apiext.api.endpoints.responsewriters.event_encoder import EventEncoder
from apiext.api.endpoints.responsewriters.table import AgeCache, TableForm, item_metadata, item_row, partial_bytes, table_head
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import Convert
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.storage.interface import Event, EventType, Item

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class EncodeError(Exception):
    """An object lacks the requested representation. The watch ends without an error event, as in the reference."""


class RejectingEncoder(EventEncoder):
    """Encoder for PartialObjectMetadataList, which a single object cannot have."""

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

    __slots__ = ("_columns", "_convert", "_scope", "_table", "is_slow")

    def __init__(self, scope: Scope, convert: Convert, table: TableForm | None) -> None:
        self._scope = scope
        self._convert = convert
        self._table = table
        self._columns: bytes | None = None
        """The column definitions, until the first table has them."""
        self.is_slow = table is not None and scope.dialect.table is not None and scope.dialect.table.is_large

    async def ready(self, events: Sequence[Event] = ()) -> None:
        """Implement EventEncoder.ready."""
        if self._scope.dialect.table is not None:
            await self._scope.dialect.table.ready([event.item for event in events if event.item is not None])

    def line(self, event: Event) -> bytes:
        """Return the JSON line of one event."""
        if event.type is EventType.ERROR:
            return event.line
        shown = self._transform(event.item, self._table) if event.item is not None else self._bookmark(event)
        return b'{"type":"%b","object":%b}\n' % (event.type.value.encode(), shown)

    def _bookmark(self, event: Event) -> bytes:
        """Return a bookmark's object without the null creationTimestamp of built-in kinds."""
        obj: Object = json_codec.loads(event.line)["object"]
        metadata = obj["metadata"]
        if metadata.get("creationTimestamp", "") is None:
            del metadata["creationTimestamp"]
        form = self._table
        if form is not None and form.include == "None" and _INITIAL_EVENTS_END in metadata.get("annotations", ()):
            form = TableForm(form.version)
        return self._transform(Item(key="", revision=event.revision, data=json_codec.dumps(obj), labels={}, fields={}), form)

    def _transform(self, item: Item, form: TableForm | None) -> bytes:
        scope = self._scope
        if form is None or scope.dialect.table is None:
            return partial_bytes(item.data, self._convert.version)
        columns, self._columns = scope.dialect.table.headers if self._columns is None else self._columns, b"null"
        head = table_head(form, item_metadata(item), columns)
        return head + item_row(scope.dialect.table, item, form, AgeCache(datetime.now(UTC))) + b"]}"


class CBOREncoder(EventEncoder):
    """Encodes another encoder's JSON lines as items of a CBOR sequence."""

    __slots__ = ("_lines",)

    def __init__(self, lines: EventEncoder) -> None:
        self._lines = lines

    def line(self, event: Event) -> bytes:
        """Return one event. Raises the other encoder's errors."""
        from apiext.base.meta.encoding import cbor_codec

        return cbor_codec.dumps_event(json_codec.loads(self._lines.line(event)))


class UntypedEncoder(EventEncoder):
    """Encodes another encoder's JSON lines with numbers in Go's form."""

    __slots__ = ("_lines",)

    def __init__(self, lines: EventEncoder) -> None:
        self._lines = lines

    def line(self, event: Event) -> bytes:
        """Return one event. Raises the other encoder's errors."""
        return json_codec.untyped(self._lines.line(event))


class ProtobufEncoder(EventEncoder):
    """Encodes events in Protobuf, with whole objects or PartialObjectMetadata. In a stream, four bytes of length precede each event."""

    __slots__ = ("_partial", "_scope")

    def __init__(self, scope: Scope, convert: Convert | None) -> None:
        self._scope = scope
        self._partial = convert.version if convert is not None else ""

    def framed(self, event: Event) -> bytes:
        """Return one event after its length."""
        message = self.line(event)
        return len(message).to_bytes(4, "big") + message

    def line(self, event: Event) -> bytes:
        """Return one event without the length."""
        return protobuf_encoder.event_bytes(self._scope, event, self._partial)
