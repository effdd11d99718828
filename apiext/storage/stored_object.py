"""Objects in stored bytes: JSON, or CBOR with its prefix (apiextensions-apiserver pkg/cmd/server/options)."""

from __future__ import annotations

from typing import Any, Final

from apiext.meta import json_codec
from apiext.meta.json_codec import Object

_CBOR_PREFIX: Final = b"\xd9\xd9\xf7"


def loads(data: bytes) -> Any:
    """Return the value in stored bytes, whatever their encoding.

    Raises:
        ValueError: the bytes are of neither encoding.
    """
    if data.startswith(_CBOR_PREFIX):
        # imported on first use: few stores have CBOR
        from apiext.meta import cbor_codec

        return cbor_codec.loads(data)
    return json_codec.loads(data)


def cbor(obj: Object) -> bytes:
    """Return an object in CBOR."""
    from apiext.meta import cbor_codec

    return cbor_codec.dumps(obj)
