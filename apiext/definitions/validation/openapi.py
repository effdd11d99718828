"""The rules for every node of a schema (ValidateCustomResourceDefinitionOpenAPISchema)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from apiext.definitions.validation.list_types import list_and_map_errors, map_key_errors
from apiext.definitions.validation.rules import rule_errors
from apiext.definitions.validation.schemas import TYPES, has_invalid_type
from apiext.meta import field

if TYPE_CHECKING:
    from apiext.definitions.validation.options import Options
    from apiext.definitions.validation.schemas import Props
    from apiext.meta.field import FieldError, Path

_META_FIELDS: Final = ("metadata", "kind", "apiVersion")
_CLAUSES: Final = ("allOf", "oneOf", "anyOf")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_THERE: Final = ("$ref", "additionalItems", "dependencies")
"""Those of them that count where they are empty or false."""


@dataclass(frozen=True, slots=True)
class Place:
    """What holds at a node because of where it stands (specStandardValidator)."""

    no_defaults: str | None = None
    """Why defaults are forbidden; None where they are not."""
    inside_meta: bool = False


def openapi_errors(root: Props, path: Path, options: Options) -> list[FieldError]:
    """Everything wrong with a schema apart from its structure and its defaults."""
    errors: list[FieldError] = []
    _Walk(options, errors).node(root, path, Place(), root=True)
    return errors


class _Walk:
    __slots__ = ("errors", "options")

    def __init__(self, options: Options, errors: list[FieldError]) -> None:
        self.options = options
        self.errors = errors

    def node(self, node: Props, path: Path, place: Place, *, root: bool = False) -> None:
        """One node, then those below it, in the reference's order."""
        self._allowed(node, path, place)
        if node.get("uniqueItems"):
            detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            self.errors.append(field.forbidden(path.child("uniqueItems"), detail))
        self._additional_properties(node, path, place)
        self._properties(node, path, place, root=root)
        self._clauses(node, path, place)
        self._items(node, path, place)
        self._dependencies(node, path, place)
        if node.get("x-kubernetes-preserve-unknown-fields") is False:
            here = path.child("x-kubernetes-preserve-unknown-fields")
            self.errors.append(field.invalid(here, False, "must be true or undefined"))  # noqa: FBT003
        self.errors += list_and_map_errors(node, path, atomic_sets=self.options.atomic_sets)
        if self.options.map_keys:
            self.errors += map_key_errors(node, path)
        rules = node.get("x-kubernetes-validations")
        if rules:
            self.errors += rule_errors(rules, node, path.child("x-kubernetes-validations"))

    def _allowed(self, node: Props, path: Path, place: Place) -> None:
        if self.options.valid_types and has_invalid_type(node):
            self.errors.append(field.not_supported(path.child("type"), node["type"], TYPES))
        if node.get("default") is not None and place.no_defaults is not None:
            self.errors.append(field.forbidden(path.child("default"), f"must not be set {place.no_defaults}"))
        for key in _UNSUPPORTED:
            if node.get(key) or (key in _THERE and node.get(key) is not None):
                self.errors.append(field.forbidden(path.child(key), f"{key} is not supported"))
        if node.get("type") == "null":
            detail = "type cannot be set to null, use nullable as an alternative"
            self.errors.append(field.forbidden(path.child("type"), detail))
        if isinstance(node.get("items"), list):
            self.errors.append(field.forbidden(path.child("items"), "items must be a schema object and not an array"))
        if place.inside_meta and node.get("x-kubernetes-embedded-resource"):
            here = path.child("x-kubernetes-embedded-resource")
            self.errors.append(field.forbidden(here, "must not be used inside of resource meta"))

    def _additional_properties(self, node: Props, path: Path, place: Place) -> None:
        additional = node.get("additionalProperties")
        if additional is None:
            return
        here = path.child("additionalProperties")
        if node.get("properties") and additional is not True:
            self.errors.append(field.forbidden(here, "additionalProperties and properties are mutual exclusive"))
        if isinstance(additional, Mapping):
            if place.inside_meta:
                place = replace(place, no_defaults="inside additionalProperties applying to object metadata")
            self.node(additional, here, place)

    def _properties(self, node: Props, path: Path, place: Place, *, root: bool) -> None:
        below = path.child("properties")
        for name, child in (node.get("properties") or {}).items():
            inner = place
            if name in _META_FIELDS and (root or node.get("x-kubernetes-embedded-resource")):
                no_defaults = f"in top-level {name}" if root else place.no_defaults
                inner = Place(no_defaults=no_defaults, inside_meta=True)
            self.node(child, below.key(name), inner)

    def _clauses(self, node: Props, path: Path, place: Place) -> None:
        negated = node.get("not")
        if negated is not None:
            self.node(negated, path.child("not"), place)
        for key in _CLAUSES:
            for index, clause in enumerate(node.get(key) or ()):
                self.node(clause, path.child(key).index(index), place)
        for name, child in (node.get("definitions") or {}).items():
            self.node(child, path.child("definitions").key(name), place)

    def _items(self, node: Props, path: Path, place: Place) -> None:
        items, here = node.get("items"), path.child("items")
        if isinstance(items, Mapping):
            self.node(items, here, place)
        elif isinstance(items, list):
            for index, item in enumerate(items):
                self.node(item, here.index(index), place)

    def _dependencies(self, node: Props, path: Path, place: Place) -> None:
        for name, dependency in (node.get("dependencies") or {}).items():
            if isinstance(dependency, Mapping):
                self.node(dependency, path.child("dependencies").key(name), place)
