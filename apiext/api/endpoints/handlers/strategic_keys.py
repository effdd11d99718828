"""Merge keys of a kind's strategic merge patches, from its OpenAPI definition.

Mirrors apimachinery pkg/util/strategicpatch (meta.go, PatchMetaFromOpenAPIV3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.handlers.strategic_merge import REPLACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PREFIX: Final = "#/components/schemas/"
_STRATEGY: Final = "x-kubernetes-patch-strategy"
_MERGE_KEY: Final = "x-kubernetes-patch-merge-key"


def keys_from_openapi(schemas: Mapping[str, dict[str, Any]], name: str) -> dict[str, str]:
    """Return the merge keys by the names of parent and field, as `strategic_merge` wants them.

    In no kind do two fields with the same names of parent and field have different keys.
    """
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    queue = [("", name)]
    while queue:
        parent, name = queue.pop()
        if (parent, name) in seen:
            continue
        seen.add((parent, name))
        for field, schema in schemas[name].get("properties", {}).items():
            strategies = schema.get(_STRATEGY, "").split(",")
            if "merge" in strategies:
                found[f"{parent}.{field}"] = schema.get(_MERGE_KEY, "")
            elif "replace" in strategies:
                found[f"{parent}.{field}"] = REPLACE
            queue += ((field, below) for below in _definitions(schema))
    return found


def _definitions(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the definitions of a field's value, or of its items."""
    if "$ref" in schema:
        yield schema["$ref"].removeprefix(_PREFIX)
    for below in (*schema.get("allOf", ()), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(below, dict):
            yield from _definitions(below)
