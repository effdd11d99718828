"""The codec of built-in types: bodies and stored bytes take the form of their Go type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import json_codec
from apiext.meta.go_types import Decoder
from apiext.registry import protobuf

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.meta.go_types import Struct
    from apiext.meta.gvk import GroupVersionKind
    from apiext.meta.json_codec import Object


class TypedCodec:
    """Objects of one Go type; stored as JSON, and read from JSON or from the protobuf of kube-apiserver."""

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
        """Group, version and kind of the objects."""
        return self._gvk

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Bring a parsed request body into the form of the type, in place; what strict decoding would refuse, if asked for.

        Raises:
            ValueError: a field has the wrong type; the text is that of the reference's decoder.
        """
        strict = Decoder(report=report).run(self._struct, obj)
        metadata = obj.get("metadata") or {}
        if metadata.get("managedFields") == []:
            # Go tells an empty list from none, and both this and a single empty entry take the record away.
            metadata["managedFields"] = [{}]
        typed = self._typed(obj)
        obj.clear()
        obj.update(typed)
        return strict

    def decode(self, data: bytes) -> Object:
        """A stored object. Raises ValueError."""
        if data.startswith(protobuf.PREFIX):
            return self._typed(protobuf.read(data, self._message))
        obj = json_codec.loads(data)
        Decoder(report=False).run(self._struct, obj)
        return self._typed(obj)

    def encode(self, obj: Object) -> bytes:
        """The bytes to store."""
        typed = self._typed(obj)
        for name in ("resourceVersion", "selfLink"):
            typed["metadata"].pop(name, None)
        return json_codec.dumps(typed, sort_keys=False) + b"\n"

    def reread(self, obj: Object, data: bytes) -> Object:
        """The object as it is stored."""
        return self.decode(data)

    def fields(self, obj: Object) -> dict[str, str]:
        """The selectable fields."""
        return self._fields(obj)

    def _typed(self, obj: Object) -> Object:
        typed: Object = self._struct.canonical(obj)
        if self._default is not None:
            self._default(typed)
        return typed
