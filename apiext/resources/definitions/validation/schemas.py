"""Traversal of the schemas of a definition (validation.SchemaHas, HasSchemaWith)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.field import Path
from apiext.schema.keywords import JUNCTORS

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.model import Props

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
_SINGLE: Final = ("not", "additionalProperties", "additionalItems")
WITH_SCHEMAS: Final = frozenset({"items", *JUNCTORS, *_MAPS, *_SINGLE})


def openapi_schema(validation: Props | None) -> Props | None:
    """Return the schema of a CustomResourceValidation, None if it has none."""
    if validation is None:
        return None
    schema = validation.get("openAPIV3Schema")
    return schema if isinstance(schema, Mapping) else None


def root_schemas(spec: Object) -> Iterator[Props]:
    """Yield the root schemas of a spec in v1beta1 form."""
    validations = [spec.get("validation"), *(version.get("schema") for version in spec.get("versions", ()))]
    yield from (schema for validation in validations if (schema := openapi_schema(validation)) is not None)


def schemas_by_path(definition: Object) -> Iterator[tuple[Path, int, Any]]:
    """Yield the root schemas of an undecoded definition (v1 or v1beta1): field path, levels of nesting above it, and value."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    versions = spec.get("versions")
    validations = [(Path("spec").child("validation"), 3, spec.get("validation"))]
    for index, version in enumerate(versions if isinstance(versions, list) else ()):
        if isinstance(version, dict):
            validations.append((Path("spec").child("versions").index(index).child("schema"), 5, version.get("schema")))
    for path, levels, validation in validations:
        if isinstance(validation, dict):
            yield path.child("openAPIV3Schema"), levels, validation.get("openAPIV3Schema")


def nodes(root: Props | None) -> Iterator[Props]:
    """Yield a schema and every schema inside it."""
    pending: list[Any] = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping):
            continue
        yield node
        if WITH_SCHEMAS.isdisjoint(node):
            continue
        children: list[Any] = [node.get(name) for name in _SINGLE]
        items = node.get("items")
        children += items if isinstance(items, list) else [items]
        for name in JUNCTORS:
            children += node.get(name) or ()
        for name in _MAPS:
            children += (node.get(name) or {}).values()
        pending += reversed(children)


def any_schema(spec: Object, test: Callable[[Props], bool]) -> bool:
    """Report whether a test is true for any schema of a spec, at any depth."""
    return any(test(node) for root in root_schemas(spec) for node in nodes(root))


def has_invalid_type(node: Props) -> bool:
    """Report whether a schema has a type that OpenAPI v3 does not define."""
    return bool(node.get("type")) and node["type"] not in TYPES
