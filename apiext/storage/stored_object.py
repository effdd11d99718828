"""Objects in stored bytes: JSON, or CBOR with its prefix (apiextensions-apiserver pkg/cmd/server/options)."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object

_CBOR_PREFIX: Final = b"\xd9\xd9\xf7"
ENCRYPTED_PREFIX: Final = b"k8s:enc:"
NOT_DECRYPTED: Final = "identity transformer tried to read encrypted data"
"""The error about an encrypted value without a configuration of the encryption (apiserver pkg/storage/value/encrypt/identity)."""
_CUT: Final = ("unexpected end of data", "Input is a zero-length")
"""Errors of the parser for truncated or empty values, with Go's text for them."""
# Custom resources have sorted keys, built-in kinds the order of Go's types.
_HEAD: Final = re.compile(rb'\{(?:"kind":"[^"\\]*",)?"apiVersion":"([^"\\]*)"')


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """An object whose bytes cannot be decoded: no version can show it."""

    key: str
    """Key relative to the resource: "namespace/name" or "name"."""
    revision: int
    size: int
    """Bytes of the stored value."""
    api_version: str
    """The apiVersion in the bytes; empty if none is readable."""
    problem: str
    """The reason."""


def loads(data: bytes) -> Any:
    """Return the value in stored bytes, in either encoding.

    Raises:
        ValueError: the bytes have neither encoding.
    """
    if data.startswith(_CBOR_PREFIX):
        # imported on first use: few stores have CBOR
        from apiext.base.meta.encoding import cbor_codec

        return cbor_codec.loads(data)
    try:
        return json_codec.loads(data)
    except ValueError as error:
        if str(error).startswith(_CUT):
            raise ValueError("unexpected end of JSON input") from error
        raise


def cbor(obj: Object) -> bytes:
    """Return an object in CBOR."""
    from apiext.base.meta.encoding import cbor_codec

    return cbor_codec.dumps(obj)


def encoding(data: bytes) -> str:
    """Return the encoding of stored bytes: json, cbor, encrypted or unknown. Read only their beginning."""
    if data.startswith(_CBOR_PREFIX):
        return "cbor"
    if data.startswith(ENCRYPTED_PREFIX) or type(data) is not bytes:
        return "encrypted"
    return "json" if data[:1] == b"{" else "unknown"


def head(version: str) -> bytes:
    """Return the usual first bytes of custom objects with an apiVersion, in JSON. Others exist: `api_version` finds them all."""
    return b'{"apiVersion":"%b"' % version.encode()


def api_version(data: bytes) -> str:
    """Return the apiVersion in an object's stored bytes, interned; "" if there is none or the encoding is unknown.

    Read only the beginning if the apiVersion is there. Parse the rest: CBOR, and objects with a field that sorts before it.
    """
    if type(data) is not bytes:
        # an UnreadableValue
        return ""
    found = _HEAD.match(data)
    if found is not None:
        return sys.intern(found[1].decode(errors="replace"))
    try:
        version = loads(data)["apiVersion"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return sys.intern(version) if type(version) is str else ""
