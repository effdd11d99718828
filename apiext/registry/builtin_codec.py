"""The codec of built-in types, in the form of their Go structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import json_codec
from apiext.meta.go_types import Decoder
from apiext.registry import protobuf
from apiext.storage.interface import Encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.meta.go_types import Struct
    from apiext.meta.gvk import GroupVersionKind
    from apiext.meta.json_codec import Object


class TypedCodec:
    """Encodes objects of one Go type as JSON; decodes JSON and the protobuf of kube-apiserver."""

    __slots__ = ("__weakref__", "_default", "_fields", "_gvk", "_message", "_struct")

    def __init__(
        self,
        *,
        kind: GroupVersionKind,
        struct: Struct,
        message: protobuf.Message,
        fields: Callable[[Object], dict[str, str]],
        default: Callable[[Object], None] | None = None,
    ) -> None:
        self._gvk = kind
        self._struct = struct
        self._message = message
        self._fields = fields
        self._default = default

    @property
    def gvk(self) -> GroupVersionKind:
        """Return group, version and kind of the objects."""
        return self._gvk

    @property
    def conversion(self) -> None:
        """Return None: the codec converts by itself."""
        return

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Bring a parsed request body into the form of the type, in place; return the strict decoding errors if `report` is set.

        Raises:
            ValueError: a field has the wrong type; the message is the reference's.
        """
        strict = Decoder(report=report).run(self._struct, obj)
        metadata = obj.get("metadata") or {}
        if metadata.get("managedFields") == []:
            # Go distinguishes an empty list from none; an empty list and one empty entry both reset managedFields.
            metadata["managedFields"] = [{}]
        typed = self._typed(obj)
        obj.clear()
        obj.update(typed)
        return strict

    def decode(self, data: bytes) -> Object:
        """Return a stored object.

        Raises:
            ValueError: the data cannot be decoded.
        """
        if data.startswith(protobuf.PREFIX):
            return self._typed(protobuf.read(data, self._message))
        obj = json_codec.loads(data)
        Decoder(report=False).run(self._struct, obj)
        return self._typed(obj)

    def encode(self, obj: Object) -> Encoded:
        """Implement Codec.encode."""
        typed = self._typed(obj)
        for name in ("resourceVersion", "selfLink"):
            typed["metadata"].pop(name, None)
        return Encoded(json_codec.dumps(typed, sort_keys=False) + b"\n")

    def fields(self, obj: Object) -> dict[str, str]:
        """Return the selectable fields."""
        return self._fields(obj)

    def _typed(self, obj: Object) -> Object:
        typed: Object = self._struct.canonical(obj)
        if self._default is not None:
            self._default(typed)
        return typed
