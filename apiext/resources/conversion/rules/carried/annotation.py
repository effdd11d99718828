"""The annotation of a carrier: compact, canonical, and hostile until proven otherwise."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Collection, Mapping
from typing import Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.rules.carried.entries import Entry
from apiext.resources.conversion.rules.carried.entry_documents import MalformedEntryError, from_documents, to_document

CARRIED: Final = "conversion.apiext.dev/carried"
"""The name of the annotation."""
MAX_CARRIED_BYTES: Final = 64 * 1024
"""Bytes of the annotation's value."""
MAX_CARRIED_JSON_BYTES: Final = 1024 * 1024
"""Bytes of the entries before they are compressed; parsing them takes about 4 ms."""
_MAX_PLAIN_BYTES: Final = 2048
"""Bytes up to which entries are not compressed: a person can read them."""
_COMPRESSED: Final = "z1:"
TOO_LARGE: Final = "too large"
IRREVERSIBLE: Final = "irreversible"
_REFUSALS: Final = frozenset({TOO_LARGE, IRREVERSIBLE})

Carried = dict[str, tuple[Entry, ...] | str]
"""Entries by the version that has them. Instead of entries, the reason why they could not be carried: the object must not return there."""


class CarrierSizeError(ValueError):
    """Entries exceed a limit. The text has the size and the limit."""


def of(metadata: Object) -> str | None:
    """Return the annotation's value in the metadata of an object."""
    annotations = metadata.get("annotations")
    text = annotations.get(CARRIED) if type(annotations) is dict else None
    return text if type(text) is str else None


def take(obj: Object) -> str | None:
    """Remove the annotation from an object and return its value. The metadata is replaced, not changed."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations")
    if type(annotations) is not dict or CARRIED not in annotations:
        return None
    left, metadata = annotations.copy(), metadata.copy()
    text = left.pop(CARRIED)
    if left:
        metadata["annotations"] = left
    else:
        del metadata["annotations"]
    obj["metadata"] = metadata
    return text if type(text) is str else None


def put(obj: Object, text: str) -> None:
    """Set the annotation of an object. The metadata is replaced, not changed."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations")
    obj["metadata"] = metadata | {"annotations": (annotations if type(annotations) is dict else {}) | {CARRIED: text}}


def parse(text: str, versions: Collection[str], *, marked: bool) -> Carried:
    """Return what an annotation carries for the named versions. What no conversion can have written is left out.

    Unless `marked`, that includes the marks of what was not carried: no object with one is stored.
    """
    document = _document(text)
    carried: Carried = {}
    if type(document) is not dict:
        return carried
    for version, found in document.items():
        if version not in versions:
            continue
        if type(found) is str:
            if marked and found in _REFUSALS:
                carried[version] = found
            continue
        try:
            carried[version] = from_documents(found)
        except MalformedEntryError:
            continue
    return carried


def _document(text: str) -> object:
    if len(text) > MAX_CARRIED_BYTES:
        return None
    try:
        if not text.startswith(_COMPRESSED):
            return json_codec.loads(text.encode())
        compressed = base64.b64decode(text.removeprefix(_COMPRESSED), validate=True)
        inflation = zlib.decompressobj()
        data = inflation.decompress(compressed, MAX_CARRIED_JSON_BYTES)
        return json_codec.loads(data) if inflation.eof else None
    except (ValueError, binascii.Error, zlib.error):
        return None


def text_of(carried: Mapping[str, tuple[Entry, ...] | str]) -> str:
    """Return the annotation's value. Equal entries give equal text.

    Raises:
        CarrierSizeError: it would exceed the limit.
    """
    document = {version: found if isinstance(found, str) else list(map(to_document, found)) for version, found in carried.items()}
    data = json_codec.dumps(document)
    if len(data) <= _MAX_PLAIN_BYTES:
        return data.decode()
    if len(data) > MAX_CARRIED_JSON_BYTES:
        raise CarrierSizeError(f"{len(data)} bytes, and at most {MAX_CARRIED_JSON_BYTES} can be carried")
    text = _COMPRESSED + base64.b64encode(zlib.compress(data)).decode()
    if len(text) > MAX_CARRIED_BYTES:
        raise CarrierSizeError(f"{len(text)} bytes compressed, and at most {MAX_CARRIED_BYTES} can be carried")
    return text
