"""v1 CustomResourceDefinition in protobuf, for client-go's typed clients.

Mirrors apiextensions-apiserver pkg/apis/apiextensions/v1/generated.proto, and marshal.go where a message is a union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.definitions import types
from apiext.registry.protobuf.kinds import MapOf, Message, Scalar, message_of
from apiext.schema.keywords import KEYWORDS, POINTERS, of_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.meta.encoding.json_codec import Object
    from apiext.schema.keywords import Kind


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


_TEXT, _INT, _BOOL = Scalar.TEXT, Scalar.INT, Scalar.BOOL

SCHEMA_WIRE: Final = Message({})
_OR_BOOL: Final = _SchemaOrBool({1: ("allows", _BOOL), 2: ("schema", SCHEMA_WIRE)}, optional={"schema"})
_OR_ARRAY: Final = _SchemaOrList({1: ("schema", SCHEMA_WIRE), 2: ("list", SCHEMA_WIRE)}, repeated={"list"}, optional={"schema"})
_OR_STRINGS: Final = _SchemaOrList({1: ("schema", SCHEMA_WIRE), 2: ("list", _TEXT)}, repeated={"list"}, optional={"schema"})

_RULE: Final = Message(
    {
        1: ("rule", _TEXT),
        2: ("message", _TEXT),
        3: ("messageExpression", _TEXT),
        4: ("reason", _TEXT),
        5: ("fieldPath", _TEXT),
        6: ("optionalOldSelf", _BOOL),
    },
    optional={"reason", "optionalOldSelf"},
)

_CONTENTS: Final[Mapping[Kind, Scalar | Message | MapOf]] = {
    "text": _TEXT,
    "optional text": _TEXT,
    "url": _TEXT,
    "flag": _BOOL,
    "optional flag": _BOOL,
    "count": _INT,
    "number": Scalar.FLOAT,
    "value": Scalar.JSON,
    "values": Scalar.JSON,
    "names": _TEXT,
    "rules": _RULE,
    "docs": Message({1: ("description", _TEXT), 2: ("url", _TEXT)}),
    "schema": SCHEMA_WIRE,
    "schema or bool": _OR_BOOL,
    "schema or schemas": _OR_ARRAY,
    "schemas": SCHEMA_WIRE,
    "named schemas": MapOf(SCHEMA_WIRE),
    "definitions": MapOf(SCHEMA_WIRE),
    "dependencies": MapOf(_OR_STRINGS),
}
SCHEMA_WIRE.define(
    {each.number: (each.name, _CONTENTS[each.kind]) for each in KEYWORDS},
    repeated=frozenset(of_kind("values", "names", "rules", "schemas")),
    optional=frozenset(of_kind(*POINTERS)),
)

DEFINITION_WIRE: Final = message_of(types.DEFINITION, {types.SCHEMA: SCHEMA_WIRE, types.BYTES: Scalar.BASE64})
