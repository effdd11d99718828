"""Warnings about valid definitions (pkg/registry/customresourcedefinition/strategy.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.golang import formatting
from apiext.resources.definitions.v1beta1 import to_v1beta1_spec
from apiext.resources.definitions.validation import schemas
from apiext.resources.definitions.validation.known_schemas import PLAIN, digest
from apiext.schema.validation.keywords.values import is_supported_format

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.model import Props


def warnings(crd: Object, old: Object | None = None) -> list[str]:
    """Return the warnings about a definition. For an update, omit those of the old definition."""
    found = _remarkable(crd)
    if not found:
        return []
    known = _remarkable(old) if old is not None else []
    old_formats = set(_unrecognized_formats(known))
    texts = [f"unrecognized format {formatting.quote(name)}" for name in _unrecognized_formats(found) if name not in old_formats]
    return texts + sorted(_sets_of_composites(found) - _sets_of_composites(known))


def _remarkable(crd: Object) -> list[Props]:
    """Return the schemas of a definition that cause warnings, in v1beta1 form."""
    roots = []
    for root in schemas.root_schemas(to_v1beta1_spec(crd["spec"])):
        known_as = digest(root)
        if known_as in PLAIN:
            continue
        if _unrecognized_formats([root]) or _sets_of_composites([root]):
            roots.append(root)
        else:
            PLAIN.add(known_as)
    return roots


def _unrecognized_formats(roots: Iterable[Props]) -> list[str]:
    return [
        node["format"]
        for root in roots
        for node in schemas.nodes(root)
        if node.get("format") and not is_supported_format((node["type"],) if node.get("type") else (), node["format"])
    ]


def _sets_of_composites(roots: Iterable[Props]) -> set[str]:
    texts = set()
    for root in roots:
        for node in schemas.nodes(root):
            items = node.get("items")
            if node.get("x-kubernetes-list-type") == "set" and isinstance(items, dict) and items.get("type") in ("object", "array"):
                texts.add(
                    f"x-kubernetes-list-type: set for items of type {formatting.quote(items['type'])} is not supported "
                    "by server-side apply or CEL validation rules"
                )
    return texts
