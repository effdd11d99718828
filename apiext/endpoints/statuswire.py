"""A Status in Protobuf, for clients that read nothing else: errors are all that the reference writes so about custom resources.

Mirrors apimachinery pkg/runtime/serializer/protobuf (the envelope) and pkg/apis/meta/v1/generated.proto (Status).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX: Final = b"k8s\x00"
_TYPE_META: Final = b"\x0a\x02v1\x12\x06Status"
_LIST_META: Final = b"\x0a\x00\x12\x00\x1a\x00"
"""selfLink, resourceVersion and continue, all empty: texts are written even so, unless a field is optional as a whole."""


def dumps(status: Mapping[str, Any]) -> bytes:
    """The bytes of a Status given as JSON: the prefix, and a runtime.Unknown with the message in it."""
    message = [
        _field(1, _LIST_META),
        _text(2, status.get("status", "")),
        _text(3, status.get("message", "")),
        _text(4, status.get("reason", "")),
        _field(5, _details(status["details"])) if "details" in status else b"",
        _number(6, status.get("code", 0)),
    ]
    # content encoding and content type follow, both empty
    return b"".join((_PREFIX, _field(1, _TYPE_META), _field(2, b"".join(message)), _field(3, b""), _field(4, b"")))


def _details(details: Mapping[str, Any]) -> bytes:
    parts = [_text(1, details.get("name", "")), _text(2, details.get("group", "")), _text(3, details.get("kind", ""))]
    for cause in details.get("causes", ()):
        texts = (_text(1, cause.get("reason", "")), _text(2, cause.get("message", "")), _text(3, cause.get("field", "")))
        parts.append(_field(4, b"".join(texts)))
    return b"".join((*parts, _number(5, details.get("retryAfterSeconds", 0)), _text(6, details.get("uid", ""))))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode(errors="replace"))


def _field(number: int, data: bytes) -> bytes:
    return b"".join((bytes((number << 3 | 2,)), _varint(len(data)), data))


def _number(number: int, value: int) -> bytes:
    return bytes((number << 3,)) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
