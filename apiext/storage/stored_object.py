"""Objects in stored bytes: JSON, or CBOR with its prefix (apiextensions-apiserver pkg/cmd/server/options)."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from apiext.meta.encoding import json_codec
from apiext.meta.encoding.json_codec import Object

_CBOR_PREFIX: Final = b"\xd9\xd9\xf7"
_CUT: Final = ("unexpected end of data", "Input is a zero-length")
"""Errors of the parser for values that are cut, or empty; Go's text is known."""
# Custom resources have sorted keys, built-in kinds the order of Go's types.
_HEAD: Final = re.compile(rb'\{(?:"kind":"[^"\\]*",)?"apiVersion":"([^"\\]*)"')


def loads(data: bytes) -> Any:
    """Return the value in stored bytes, whatever their encoding.

    Raises:
        ValueError: the bytes are of neither encoding.
    """
    if data.startswith(_CBOR_PREFIX):
        # imported on first use: few stores have CBOR
        from apiext.meta.encoding import cbor_codec

        return cbor_codec.loads(data)
    try:
        return json_codec.loads(data)
    except ValueError as error:
        if str(error).startswith(_CUT):
            raise ValueError("unexpected end of JSON input") from error
        raise


def cbor(obj: Object) -> bytes:
    """Return an object in CBOR."""
    from apiext.meta.encoding import cbor_codec

    return cbor_codec.dumps(obj)


def encoding(data: bytes) -> str:
    """Return how stored bytes are encoded: json, cbor, encrypted or unknown; only their beginning is read."""
    if data.startswith(_CBOR_PREFIX):
        return "cbor"
    if data.startswith(b"k8s:enc:"):
        return "encrypted"
    return "json" if data[:1] == b"{" else "unknown"


def head(version: str) -> bytes:
    """Return the beginning of custom objects with an apiVersion in JSON. An object may begin otherwise: `api_version` finds it always."""
    return b'{"apiVersion":"%b"' % version.encode()


def api_version(data: bytes) -> str:
    """Return the apiVersion of an object in stored bytes, interned; "" if they have none or are of neither encoding.

    The bytes after an apiVersion at the beginning are not read. Others are parsed: CBOR, and objects with a field that sorts before it.
    """
    found = _HEAD.match(data)
    if found is not None:
        return sys.intern(found[1].decode(errors="replace"))
    try:
        version = loads(data)["apiVersion"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return sys.intern(version) if type(version) is str else ""
