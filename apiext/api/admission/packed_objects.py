"""Objects of informers as JSON: decoded ones take several times as much memory, and few are ever read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object

_TYPE: Final = frozenset({"apiVersion", "kind"})
_PACKED: Final = "(packed)"
"""The member of a reduced object that holds its JSON."""
_INDEXED: Final = ("name", "namespace", "labels")


def strip(found: Mapping[str, Any], *, typed: bool = True) -> Object:
    """Return an object as upstream's informers have it: a typed one without managedFields, apiVersion and kind, another one as it is."""
    if not typed:
        return dict(found)
    kept = {name: value for name, value in found.items() if name not in _TYPE}
    metadata = found.get("metadata") or {}
    if "managedFields" in metadata:
        kept["metadata"] = {name: value for name, value in metadata.items() if name != "managedFields"}
    return kept


def reduce(found: Mapping[str, Any], *, typed: bool = True) -> Object:
    """Return what informers index of an object (name, namespace, labels and phase), with its JSON for `pack`.

    A reflector calls it for each object of a page, so that a long list is packed page by page.
    """
    metadata = found.get("metadata") or {}
    indexed = {name: metadata[name] for name in _INDEXED if name in metadata}
    phase = (found.get("status") or {}).get("phase", "")
    return {"metadata": indexed, "status": {"phase": phase}, _PACKED: pack(found, typed=typed)}


def pack(found: Mapping[str, Any], *, typed: bool = True) -> bytes:
    """Return an object as JSON, stripped."""
    packed: bytes | None = found.get(_PACKED)
    return json_codec.dumps(strip(found, typed=typed), sort_keys=False) if packed is None else packed


def unpack(packed: bytes) -> Object:
    """Return a new object from its JSON."""
    obj: Object = json_codec.loads(packed)
    return obj
