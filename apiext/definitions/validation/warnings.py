"""Warnings about valid definitions (pkg/registry/customresourcedefinition/strategy.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.definitions.v1beta1 import to_v1beta1_spec
from apiext.definitions.validation import schemas
from apiext.meta.golang import formatting
from apiext.schema.validation.keywords.values import is_supported_format

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object


def warnings(crd: Object, old: Object | None = None) -> list[str]:
    """Return the warnings about a definition. For an update, omit those of the old definition."""
    spec = to_v1beta1_spec(crd["spec"])
    old_spec = to_v1beta1_spec(old["spec"]) if old is not None else {}
    old_formats = set(_unrecognized_formats(old_spec))
    texts = [f"unrecognized format {formatting.quote(name)}" for name in _unrecognized_formats(spec) if name not in old_formats]
    return texts + sorted(_sets_of_composites(spec) - _sets_of_composites(old_spec))


def _unrecognized_formats(spec: Object) -> list[str]:
    return [
        node["format"]
        for root in schemas.root_schemas(spec)
        for node in schemas.nodes(root)
        if node.get("format") and not is_supported_format((node["type"],) if node.get("type") else (), node["format"])
    ]


def _sets_of_composites(spec: Object) -> set[str]:
    texts = set()
    for root in schemas.root_schemas(spec):
        for node in schemas.nodes(root):
            items = node.get("items")
            if node.get("x-kubernetes-list-type") == "set" and isinstance(items, dict) and items.get("type") in ("object", "array"):
                texts.add(
                    f"x-kubernetes-list-type: set for items of type {formatting.quote(items['type'])} is not supported "
                    "by server-side apply or CEL validation rules"
                )
    return texts
