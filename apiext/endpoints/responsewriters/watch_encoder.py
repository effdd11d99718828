"""Watch events as bytes: as the store has rendered them, or with their objects transformed.

Mirrors apiserver pkg/endpoints/handlers (response.go, watchEmbeddedEncoder).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from apiext.endpoints.responsewriters.partial_metadata import partial_bytes
from apiext.endpoints.responsewriters.response import Piece
from apiext.endpoints.responsewriters.table import TableForm, row_bytes, table_head
from apiext.endpoints.serializers import protobuf_encoder
from apiext.endpoints.serializers.negotiation import Convert
from apiext.meta import json_codec
from apiext.storage.interface import Event, EventType

if TYPE_CHECKING:
    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object

Form = Callable[[Sequence[Event]], Piece]
"""Events as they go out."""

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class FormError(Exception):
    """An object cannot be given in the form asked for: the watch ends without a word, as the reference's does."""


class NoLines:
    """The form of those who ask for a list: no single object has it."""

    __slots__ = ()

    def __call__(self, events: Sequence[Event]) -> Piece:
        """Raises FormError, but for the error that ends a watch."""
        return Piece(b"".join(map(self.line, events)))

    def line(self, event: Event) -> bytes:
        """Raises FormError, but for the error that ends a watch."""
        if event.type is EventType.ERROR:
            return event.line
        raise FormError


class TransformedLines:
    """Lines with a Table or the metadata of each object; the first table of a watch has the columns."""

    __slots__ = ("_columns", "_convert", "_scope", "_table")

    def __init__(self, scope: Scope, convert: Convert, table: TableForm | None) -> None:
        self._scope = scope
        self._convert = convert
        self._table = table
        self._columns = scope.table.headers() if scope.table is not None else b"null"

    def __call__(self, events: Sequence[Event]) -> Piece:
        """The events' lines."""
        return Piece(b"".join(map(self.line, events)))

    def line(self, event: Event) -> bytes:
        """One event's line."""
        if event.type is EventType.ERROR:
            return event.line
        obj: Object = event.item.object() if event.item is not None else json_codec.loads(event.line)["object"]
        return b'{"type":"%b","object":%b}\n' % (event.type.value.encode(), self._transformed(obj))

    def _transformed(self, obj: Object) -> bytes:
        scope, form = self._scope, self._table
        if form is None or scope.table is None:
            return partial_bytes(_bookmark_metadata(obj), self._convert.version)
        metadata = obj.get("metadata") or {}
        head = table_head(form, {"resourceVersion": metadata.get("resourceVersion", "")}, self._columns)
        self._columns = b"null"
        if form.include == "None" and _INITIAL_EVENTS_END in (metadata.get("annotations") or {}):
            form = TableForm(form.version)
        return head + row_bytes(scope.table, _bookmark_metadata(obj), form, datetime.now(UTC)) + b"]}"


class ProtobufFrames:
    """Events in Protobuf, each after its length in four bytes; their objects whole, or reduced to their metadata."""

    __slots__ = ("_partial", "_scope")

    def __init__(self, scope: Scope, convert: Convert | None) -> None:
        self._scope = scope
        self._partial = convert.version if convert is not None else ""

    def __call__(self, events: Sequence[Event]) -> Piece:
        """The events with their frames."""
        messages = map(self.line, events)
        return Piece(b"".join([len(message).to_bytes(4, "big") + message for message in messages]))

    def line(self, event: Event) -> bytes:
        """One event without its frame."""
        return protobuf_encoder.event_bytes(self._scope, event, self._partial)


def _bookmark_metadata(obj: Object) -> Object:
    """The object without the empty creation time that bookmarks of built-in kinds carry."""
    metadata = obj.get("metadata") or {}
    if metadata.get("creationTimestamp", "") is not None:
        return obj
    return {**obj, "metadata": {key: member for key, member in metadata.items() if key != "creationTimestamp"}}
