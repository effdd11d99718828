"""v1 CustomResourceDefinition in protobuf, for client-go's typed clients.

Mirrors apiextensions-apiserver pkg/apis/apiextensions/v1/generated.proto, and marshal.go where a message is a union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.resources.definitions import types
from apiext.resources.registry.protobuf.kinds import Message, Scalar, message_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.type_model import GoType


class _SchemaOrBool(Message):
    """A union of a schema and a bool."""

    __slots__ = ()

    def read(self, data: bytes) -> Any:
        """Return the schema or the bool of a message."""
        either: Object = super().read(data)
        return either.get("schema", either.get("allows", False))

    def write(self, obj: Any) -> bytes:
        """Encode a schema or a bool; a schema also sets the bool."""
        return super().write({"allows": obj} if isinstance(obj, bool) else {"allows": True, "schema": obj})


class _SchemaOrList(Message):
    """A union of a list and a schema."""

    __slots__ = ()

    def read(self, data: bytes) -> Any:
        """Return the list if it has members, else the schema or None."""
        either: Object = super().read(data)
        return either.get("list") or either.get("schema")

    def write(self, obj: Any) -> bytes:
        """Encode a list or a schema."""
        return super().write({"list" if isinstance(obj, list) else "schema": obj})


SCHEMA_WIRE: Final = Message({})
_CONTENTS: Final[Mapping[GoType, Scalar | Message]] = {
    types.SCHEMA: SCHEMA_WIRE,
    types.SCHEMA_OR_BOOL: _SchemaOrBool({1: ("allows", Scalar.BOOL), 2: ("schema", SCHEMA_WIRE)}, optional={"schema"}),
    types.SCHEMA_OR_ARRAY: _SchemaOrList({1: ("schema", SCHEMA_WIRE), 2: ("list", SCHEMA_WIRE)}, {"list"}, {"schema"}),
    types.SCHEMA_OR_STRINGS: _SchemaOrList({1: ("schema", SCHEMA_WIRE), 2: ("list", Scalar.TEXT)}, {"list"}, {"schema"}),
}
SCHEMA_WIRE.define_as(message_of(types.SCHEMA, _CONTENTS))

DEFINITION_WIRE: Final = message_of(types.DEFINITION, _CONTENTS)
