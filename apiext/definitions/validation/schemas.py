"""Walking through the schemas of a definition (validation.SchemaHas, HasSchemaWith)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

Props = Mapping[str, Any]

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
_SINGLE: Final = ("not", "additionalProperties", "additionalItems")
_WITH_SCHEMAS: Final = frozenset({"items", *_LISTS, *_MAPS, *_SINGLE})


def openapi_schema(validation: Props | None) -> Props | None:
    """The schema in a CustomResourceValidation."""
    if validation is None:
        return None
    schema = validation.get("openAPIV3Schema")
    return schema if isinstance(schema, Mapping) else None


def of_spec(spec: Object) -> Iterator[Props]:
    """The root schemas of a spec in v1beta1 form."""
    holders = [spec.get("validation"), *(version.get("schema") for version in spec.get("versions", ()))]
    yield from (schema for holder in holders if (schema := openapi_schema(holder)) is not None)


def nodes(root: Props | None) -> Iterator[Props]:
    """A schema and every schema inside it."""
    pending: list[Any] = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping):
            continue
        yield node
        if _WITH_SCHEMAS.isdisjoint(node):
            continue
        below: list[Any] = [node.get(name) for name in _SINGLE]
        items = node.get("items")
        below.extend(items if isinstance(items, list) else (items,))
        for name in _LISTS:
            below.extend(node.get(name) or ())
        for name in _MAPS:
            below.extend((node.get(name) or {}).values())
        pending.extend(reversed(below))


def any_node(spec: Object, test: Callable[[Props], bool]) -> bool:
    """Whether any schema of a spec, at any depth, is one that the test picks."""
    return any(test(node) for root in of_spec(spec) for node in nodes(root))


def has_invalid_type(node: Props) -> bool:
    """Whether a schema's type is none that OpenAPI v3 knows."""
    return bool(node.get("type")) and node["type"] not in TYPES
