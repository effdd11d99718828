"""A Status in Protobuf, for clients that read nothing else: of success, or of an error.

Mirrors apimachinery pkg/apis/meta/v1/generated.proto (Status).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.registry import protobuf
from apiext.registry.objectmeta_protobuf import LIST_METADATA
from apiext.registry.protobuf import Message, Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

_CAUSE: Final = Message({1: ("reason", Scalar.TEXT), 2: ("message", Scalar.TEXT), 3: ("field", Scalar.TEXT)})
_DETAILS: Final = Message(
    {
        1: ("name", Scalar.TEXT),
        2: ("group", Scalar.TEXT),
        3: ("kind", Scalar.TEXT),
        4: ("causes", _CAUSE),
        5: ("retryAfterSeconds", Scalar.INT),
        6: ("uid", Scalar.TEXT),
    },
    repeated={"causes"},
)
_STATUS: Final = Message(
    {
        1: ("metadata", LIST_METADATA),
        2: ("status", Scalar.TEXT),
        3: ("message", Scalar.TEXT),
        4: ("reason", Scalar.TEXT),
        5: ("details", _DETAILS),
        6: ("code", Scalar.INT),
    },
    optional={"details"},
)


def dumps(status: Mapping[str, Any]) -> bytes:
    """The bytes of a Status given as JSON."""
    return protobuf.dumps("v1", "Status", _STATUS.write(dict(status)))
