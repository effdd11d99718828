"""Validation of every node of a schema (ValidateCustomResourceDefinitionOpenAPISchema)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from apiext.definitions.validation.list_types import list_and_map_errors, map_key_errors
from apiext.definitions.validation.rules import rule_errors
from apiext.definitions.validation.schemas import TYPES, has_invalid_type
from apiext.meta import field

if TYPE_CHECKING:
    from apiext.definitions.validation.options import ValidationOptions
    from apiext.meta.field import FieldError, Path
    from apiext.schema.model import Props

_META_FIELDS: Final = ("metadata", "kind", "apiVersion")
_JUNCTORS: Final = ("allOf", "oneOf", "anyOf")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_UNSUPPORTED_IF_PRESENT: Final = ("$ref", "additionalItems", "dependencies")
"""The unsupported fields that are rejected even if they are empty or false."""


@dataclass(frozen=True, slots=True)
class Position:
    """Rules that depend on the position of a node (specStandardValidator)."""

    no_defaults: str | None = None
    """Reason why defaults are forbidden; None if they are allowed."""
    inside_meta: bool = False


def openapi_errors(root: Props, path: Path, options: ValidationOptions) -> list[FieldError]:
    """Return the errors of a schema apart from those of its structure and its defaults."""
    errors: list[FieldError] = []
    _SchemaValidator(options, errors).node(root, path, Position(), root=True)
    return errors


class _SchemaValidator:
    """Collects the errors of a schema's nodes."""

    __slots__ = ("errors", "options")

    def __init__(self, options: ValidationOptions, errors: list[FieldError]) -> None:
        self.options = options
        self.errors = errors

    def node(self, node: Props, path: Path, position: Position, *, root: bool = False) -> None:
        """Validate a node, then the nodes below it, in the reference's order."""
        self._allowed(node, path, position)
        if node.get("uniqueItems"):
            detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            self.errors.append(field.forbidden(path.child("uniqueItems"), detail))
        self._additional_properties(node, path, position)
        self._properties(node, path, position, root=root)
        for child, child_path in _other_children(node, path):
            self.node(child, child_path, position)
        if node.get("x-kubernetes-preserve-unknown-fields") is False:
            preserve_path = path.child("x-kubernetes-preserve-unknown-fields")
            self.errors.append(field.invalid(preserve_path, False, "must be true or undefined"))  # noqa: FBT003
        self.errors += list_and_map_errors(node, path, atomic_sets=self.options.atomic_sets)
        if self.options.map_keys:
            self.errors += map_key_errors(node, path)
        rules = node.get("x-kubernetes-validations")
        if rules:
            self.errors += rule_errors(rules, node, path.child("x-kubernetes-validations"))

    def _allowed(self, node: Props, path: Path, position: Position) -> None:
        if self.options.valid_types and has_invalid_type(node):
            self.errors.append(field.not_supported(path.child("type"), node["type"], TYPES))
        if node.get("default") is not None and position.no_defaults is not None:
            self.errors.append(field.forbidden(path.child("default"), f"must not be set {position.no_defaults}"))
        for key in _UNSUPPORTED:
            if node.get(key) or (key in _UNSUPPORTED_IF_PRESENT and node.get(key) is not None):
                self.errors.append(field.forbidden(path.child(key), f"{key} is not supported"))
        if node.get("type") == "null":
            detail = "type cannot be set to null, use nullable as an alternative"
            self.errors.append(field.forbidden(path.child("type"), detail))
        if isinstance(node.get("items"), list):
            self.errors.append(field.forbidden(path.child("items"), "items must be a schema object and not an array"))
        if position.inside_meta and node.get("x-kubernetes-embedded-resource"):
            embedded_path = path.child("x-kubernetes-embedded-resource")
            self.errors.append(field.forbidden(embedded_path, "must not be used inside of resource meta"))

    def _additional_properties(self, node: Props, path: Path, position: Position) -> None:
        additional = node.get("additionalProperties")
        if additional is None:
            return
        additional_path = path.child("additionalProperties")
        if node.get("properties") and additional is not True:
            self.errors.append(field.forbidden(additional_path, "additionalProperties and properties are mutual exclusive"))
        if isinstance(additional, Mapping):
            if position.inside_meta:
                position = replace(position, no_defaults="inside additionalProperties applying to object metadata")
            self.node(additional, additional_path, position)

    def _properties(self, node: Props, path: Path, position: Position, *, root: bool) -> None:
        properties_path = path.child("properties")
        for name, child in (node.get("properties") or {}).items():
            child_position = position
            if name in _META_FIELDS and (root or node.get("x-kubernetes-embedded-resource")):
                no_defaults = f"in top-level {name}" if root else position.no_defaults
                child_position = Position(no_defaults=no_defaults, inside_meta=True)
            self.node(child, properties_path.key(name), child_position)


def _other_children(node: Props, path: Path) -> Iterator[tuple[Props, Path]]:
    """Yield the schemas below a node, apart from properties and additional ones, and their paths."""
    if node.get("not") is not None:
        yield node["not"], path.child("not")
    for key in _JUNCTORS:
        for index, clause in enumerate(node.get(key) or ()):
            yield clause, path.child(key).index(index)
    for name, child in (node.get("definitions") or {}).items():
        yield child, path.child("definitions").key(name)
    items = node.get("items")
    if isinstance(items, Mapping):
        yield items, path.child("items")
    for index, item in enumerate(items if isinstance(items, list) else ()):
        yield item, path.child("items").index(index)
    for name, dependency in (node.get("dependencies") or {}).items():
        if isinstance(dependency, Mapping):
            yield dependency, path.child("dependencies").key(name)
