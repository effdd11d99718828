"""A Status in Protobuf (apimachinery pkg/apis/meta/v1, generated.proto)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiext.base.meta.golang.struct_table import struct
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from apiext.resources.registry.protobuf.objectmeta import LIST_META

_STATUS: Final = message_of(
    struct(
        "Status",
        "1 metadata ListMeta, 2 status, 3 message, 4 reason, 5 details *StatusDetails, 6 code int32",
        LIST_META,
        struct(
            "StatusDetails",
            "1 name, 2 group, 3 kind, 4 causes []StatusCause, 5 retryAfterSeconds int32, 6 uid",
            struct("StatusCause", "1 reason, 2 message, 3 field"),
        ),
    )
)


def status_bytes(status: Mapping[str, Any]) -> bytes:
    """Return the Protobuf of a Status given as JSON."""
    return kinds.dumps("v1", "Status", _STATUS.write(dict(status)))
