"""Bodies in CBOR, with the errors of the reference's decoder.

Mirrors apimachinery pkg/runtime/serializer/cbor, whose errors show documents in diagnostic notation (RFC 8949, section 8).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from apiext.endpoints.serializers.json_decoder import BodyDecodeError, DepthError
from apiext.meta.encoding import cbor_codec
from apiext.meta.encoding.json_codec import Object

_TYPE_META_ERROR: Final = "unable to determine group/version/kind: "
_NO_ARRAY: Final = " (cannot decode CBOR array to struct without toarray option)"


class CBORTypeMetaError(BodyDecodeError):
    """A body whose apiVersion and kind cannot be read."""

    def __init__(self, text: str) -> None:
        super().__init__(_TYPE_META_ERROR + text)


class CBORItemError(BodyDecodeError):
    """A body with an item that no object has; `type_meta` has its apiVersion and kind."""

    def __init__(self, text: str, type_meta: Object) -> None:
        super().__init__(text)
        self.type_meta = type_meta


class CBORDocument:
    """A parsed body."""

    def __init__(self, data: bytes) -> None:
        """Parse a body.

        Raises:
            BodyDecodeError: it is no CBOR, has a key twice, or is nested deeper than MAX_DEPTH (DepthError).
        """
        try:
            self._parsed = cbor_codec.parse(data)
        except cbor_codec.TooDeepError as error:
            raise DepthError from error
        except cbor_codec.MalformedError as error:
            raise CBORTypeMetaError(str(error)) from error
        except cbor_codec.ValueRejectedError as error:
            raise CBORItemError(str(error), _type_meta(error.document)) from error
        if self._parsed is not None and not isinstance(self._parsed, dict):
            kind = cbor_codec.type_name(self._parsed)
            raise CBORTypeMetaError(f"cbor: cannot unmarshal {kind} into Go value of type v1.TypeMeta{_NO_ARRAY * (kind == 'array')}")

    def check_type_meta(self) -> None:
        """Check that apiVersion and kind are texts, as the decoder of Go types does.

        Raises:
            CBORTypeMetaError: one is not.
        """
        for key, value in (self._parsed or {}).items():
            name = key.decode("utf-8", "replace") if type(key) is bytes else key
            if name in {"apiVersion", "kind"} and not isinstance(value, str | bytes | None):
                wrong = f"cannot unmarshal {cbor_codec.type_name(value)} into Go struct field v1.TypeMeta.{name} of type string"
                raise CBORTypeMetaError(f"cbor: {wrong}")

    def value(self) -> Object:
        """Return the body as a JSON object.

        Raises:
            BodyDecodeError: it has an item without a JSON value.
        """
        try:
            return cbor_codec.plain(self._parsed) or {}
        except cbor_codec.MalformedError as error:
            raise CBORTypeMetaError(str(error)) from error
        except cbor_codec.ValueRejectedError as error:
            raise CBORItemError(str(error), _type_meta(self._parsed)) from error

    def __str__(self) -> str:
        return diagnose(self._parsed)


def parse(data: bytes) -> Object:
    """Return a body of a Go type as a JSON object.

    Raises:
        BodyDecodeError: it cannot be decoded.
    """
    document = CBORDocument(data)
    document.check_type_meta()
    return document.value()


def _type_meta(parsed: Any) -> Object:
    found: Object = {}
    for key, value in parsed.items() if isinstance(parsed, dict) else ():
        name, text = (item.decode("utf-8", "replace") if type(item) is bytes else item for item in (key, value))
        if name in {"apiVersion", "kind"} and type(text) is str:
            found[name] = text
    return found


def diagnose(item: Any) -> str:
    """Return an item, as the library decoded it, in diagnostic notation."""
    if isinstance(item, dict):
        return "{" + ", ".join(f"{diagnose(key)}: {diagnose(value)}" for key, value in item.items()) + "}"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(map(diagnose, item)) + "]"
    if type(item) is bytes:
        try:
            return f"'{json.dumps(item.decode())[1:-1]}'" if item else "h''"
        except ValueError:
            return f"h'{item.hex()}'"
    if type(item) is str:
        return json.dumps(item)
    tag, content = getattr(item, "tag", None), getattr(item, "value", None)
    if tag is not None:
        return f"{tag}({diagnose(content)})"
    if content is not None:
        return f"simple({content})"
    return json.dumps(item) if item is None or type(item) in (bool, int, float) else "undefined"


def unknown_field(obj: Object, paths: Sequence[str]) -> str:
    """Return the reference's message about unknown fields: the place of the outermost among the members of its map."""
    *parents, name = min((path.split(".") for path in paths), key=len)
    members: Any = obj
    for part in parents:
        members = members.get(part) if isinstance(members, dict) else None
    index = list(members).index(name) if isinstance(members, dict) and name in members else 0
    return f"cbor: found unknown field at map element index {index}"
