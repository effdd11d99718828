"""Reads the metadata in an object's JSON without the rest of the object."""

from __future__ import annotations

import json
import re
from typing import Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object

# The members before the metadata: custom resources have sorted keys, built-in kinds the order of Go's types.
_HEAD: Final = re.compile(rb'\{(?:"apiVersion":"[^"\\]*","kind":"[^"\\]*"|"kind":"[^"\\]*","apiVersion":"[^"\\]*"),"metadata":(?=\{)')
_MIN_BYTES: Final = 4096
"""Bytes to search first. A smaller object is faster to parse as a whole."""
_DECODER: Final = json.JSONDecoder()


def read_metadata(data: bytes) -> Object:
    """Return the metadata in an object's JSON (in the form of json_codec); empty if there is none."""
    place = find_metadata(data) if len(data) > _MIN_BYTES else None
    return json_codec.loads(data[place]) if place is not None else json_codec.loads(data).get("metadata") or {}


def metadata_json(data: bytes) -> bytes:
    """Return the JSON of the metadata in an object's JSON (in the form of json_codec); `{}` if there is none."""
    place = find_metadata(data)
    return data[place] if place is not None else json_codec.dumps(json_codec.loads(data).get("metadata") or {})


def find_metadata(data: bytes) -> slice | None:
    """Return the place of the metadata in an object's JSON. The time depends on the metadata only.

    None if other members than apiVersion and kind come before it.
    """
    head = _HEAD.match(data)
    if head is None:
        return None
    start, size = head.end(), _MIN_BYTES
    while True:
        text = data[start : start + size].decode(errors="ignore")
        try:
            end = _DECODER.raw_decode(text)[1]
        except (ValueError, RecursionError):
            if start + size >= len(data):
                return None
            size *= 4
        else:
            return slice(start, start + (end if text.isascii() else len(text[:end].encode())))
