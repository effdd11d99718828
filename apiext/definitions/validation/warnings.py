"""What a writer of a valid definition is told (the warnings of pkg/registry/customresourcedefinition/strategy.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions.v1beta1 import spec_of
from apiext.definitions.validation import schemas
from apiext.meta import go_format
from apiext.schema.validation.spec import is_supported_format

if TYPE_CHECKING:
    from apiext.definitions.validation.schemas import Props
    from apiext.meta.json_codec import Object

RULES_NOT_ENFORCED: Final = "x-kubernetes-validations rules are stored but not enforced by this server"


def warnings(crd: Object, old: Object | None = None) -> list[str]:
    """Warnings about a definition; for a change, only what the old one does not give rise to already."""
    spec = spec_of(crd["spec"])
    before = spec_of(old["spec"]) if old is not None else {}
    known = set(_unrecognized_formats(before))
    found = [f"unrecognized format {go_format.quote(name)}" for name in _unrecognized_formats(spec) if name not in known]
    seen = _sets_of_composites(before)
    found += sorted(_sets_of_composites(spec) - seen)
    if schemas.any_node(spec, lambda node: bool(node.get("x-kubernetes-validations"))):
        found.append(RULES_NOT_ENFORCED)
    return found


def _unrecognized_formats(spec: Object) -> list[str]:
    return [
        node["format"]
        for root in schemas.of_spec(spec)
        for node in schemas.nodes(root)
        if node.get("format") and not is_supported_format(_types(node), node["format"])
    ]


def _types(node: Props) -> tuple[str, ...]:
    return (node["type"],) if node.get("type") else ()


def _sets_of_composites(spec: Object) -> set[str]:
    found = set()
    for root in schemas.of_spec(spec):
        for node in schemas.nodes(root):
            items = node.get("items")
            if node.get("x-kubernetes-list-type") == "set" and isinstance(items, dict) and items.get("type") in ("object", "array"):
                found.add(
                    f"x-kubernetes-list-type: set for items of type {go_format.quote(items['type'])} is not supported "
                    "by server-side apply or CEL validation rules"
                )
    return found
