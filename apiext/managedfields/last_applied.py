"""The annotation of client-side apply, which `kubectl apply --server-side` adopts and keeps up to date.

Mirrors lastapplied.go and lastappliedupdater.go of apimachinery pkg/util/managedfields/internal.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.encoding import json_codec
from apiext.meta.encoding.json_codec import Object
from apiext.meta.objectmeta.validation import are_annotations_too_large

KUBECTL: Final = "kubectl"
"""The manager that adopts fields from client-side apply."""
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def last_applied(obj: Object) -> str:
    """Return the configuration in the annotation of client-side apply, "" if there is none."""
    return (obj["metadata"].get("annotations") or {}).get(ANNOTATION) or ""


def with_last_applied(obj: Object, configuration: Object) -> Object:
    """Return an object with the annotation set to a configuration. Omit the annotation if the annotations become too large."""
    metadata = dict(configuration.get("metadata") or {})
    if metadata.get("annotations") is not None:
        metadata["annotations"] = {name: text for name, text in metadata["annotations"].items() if name != ANNOTATION}
    recorded = json_codec.dumps(configuration | {"metadata": metadata}).decode() + "\n"
    annotations = obj["metadata"]["annotations"] | {ANNOTATION: recorded}
    if are_annotations_too_large(annotations):
        del annotations[ANNOTATION]
    return obj | {"metadata": obj["metadata"] | {"annotations": annotations}}
