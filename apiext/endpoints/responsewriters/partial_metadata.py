"""Objects reduced to their metadata (meta.k8s.io PartialObjectMetadata)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from apiext.meta import json_codec
from apiext.meta.json_codec import Object


def partial_bytes(obj: Object, version: str) -> bytes:
    """An object's PartialObjectMetadata as JSON."""
    metadata = obj.get("metadata")
    return b"%b%b}" % (partial_head(version), json_codec.dumps(metadata) if metadata is not None else b"{}")


@lru_cache(maxsize=4)
def partial_head(version: str) -> bytes:
    """A PartialObjectMetadata up to its metadata."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":' % version.encode()


def partial_list_head(version: str, metadata: dict[str, Any]) -> bytes:
    """A PartialObjectMetadataList up to its items."""
    return b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/%b","metadata":%b,"items":[' % (
        version.encode(),
        json_codec.dumps(metadata),
    )
