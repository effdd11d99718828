"""v1 CustomResourceDefinition in protobuf, for client-go's typed clients.

Mirrors apiextensions-apiserver pkg/apis/apiextensions/v1/generated.proto, and marshal.go where a message is a union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.registry.protobuf.kinds import MapOf, Message, Scalar
from apiext.registry.protobuf.objectmeta import METADATA
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

_NAMES: Final = Message(
    {
        1: ("plural", _TEXT),
        2: ("singular", _TEXT),
        3: ("shortNames", _TEXT),
        4: ("kind", _TEXT),
        5: ("listKind", _TEXT),
        6: ("categories", _TEXT),
    },
    repeated={"shortNames", "categories"},
)

_COLUMN: Final = Message(
    {
        1: ("name", _TEXT),
        2: ("type", _TEXT),
        3: ("format", _TEXT),
        4: ("description", _TEXT),
        5: ("priority", _INT),
        6: ("jsonPath", _TEXT),
    }
)

_SCALE: Final = Message(
    {1: ("specReplicasPath", _TEXT), 2: ("statusReplicasPath", _TEXT), 3: ("labelSelectorPath", _TEXT)},
    optional={"labelSelectorPath"},
)

_SUBRESOURCES: Final = Message(
    {
        1: ("status", Message({})),
        2: ("scale", _SCALE),
    },
    optional={"status", "scale"},
)

_VERSION: Final = Message(
    {
        1: ("name", _TEXT),
        2: ("served", _BOOL),
        3: ("storage", _BOOL),
        4: ("schema", Message({1: ("openAPIV3Schema", SCHEMA_WIRE)}, optional={"openAPIV3Schema"})),
        5: ("subresources", _SUBRESOURCES),
        6: ("additionalPrinterColumns", _COLUMN),
        7: ("deprecated", _BOOL),
        8: ("deprecationWarning", _TEXT),
        9: ("selectableFields", Message({1: ("jsonPath", _TEXT)})),
    },
    repeated={"additionalPrinterColumns", "selectableFields"},
    optional={"schema", "subresources", "deprecationWarning"},
)

_SERVICE: Final = Message({1: ("namespace", _TEXT), 2: ("name", _TEXT), 3: ("path", _TEXT), 4: ("port", _INT)}, optional={"path", "port"})
_CLIENT: Final = Message(
    {1: ("service", _SERVICE), 2: ("caBundle", Scalar.BASE64), 3: ("url", _TEXT)}, optional={"service", "caBundle", "url"}
)
_WEBHOOK: Final = Message(
    {2: ("clientConfig", _CLIENT), 3: ("conversionReviewVersions", _TEXT)},
    repeated={"conversionReviewVersions"},
    optional={"clientConfig"},
)

_SPEC: Final = Message(
    {
        1: ("group", _TEXT),
        3: ("names", _NAMES),
        4: ("scope", _TEXT),
        7: ("versions", _VERSION),
        9: ("conversion", Message({1: ("strategy", _TEXT), 2: ("webhook", _WEBHOOK)}, optional={"webhook"})),
        10: ("preserveUnknownFields", _BOOL),
    },
    repeated={"versions"},
    optional={"conversion"},
)

_CONDITION: Final = Message(
    {
        1: ("type", _TEXT),
        2: ("status", _TEXT),
        3: ("lastTransitionTime", Scalar.TIME),
        4: ("reason", _TEXT),
        5: ("message", _TEXT),
        6: ("observedGeneration", _INT),
    }
)

_STATUS: Final = Message(
    {1: ("conditions", _CONDITION), 2: ("acceptedNames", _NAMES), 3: ("storedVersions", _TEXT), 4: ("observedGeneration", _INT)},
    repeated={"conditions", "storedVersions"},
)

DEFINITION_WIRE: Final = Message({1: ("metadata", METADATA), 2: ("spec", _SPEC), 3: ("status", _STATUS)})
