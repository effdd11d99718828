"""Validation of the defaults in a schema (defaulting/validation.go)."""

from __future__ import annotations

from typing import Any

from apiext.meta import json_values
from apiext.meta.field import FieldError, Path, aggregate, invalid
from apiext.schema.defaulting.prune import steps_to, surround
from apiext.schema.model import Props, Structural
from apiext.schema.objectmeta.algorithm import CoercionError, coerce
from apiext.schema.objectmeta.validation import resource_errors
from apiext.schema.pruning import META_FIELDS, prune
from apiext.schema.validation.report import report
from apiext.schema.validation.result import to_field_errors
from apiext.schema.validation.spec import Spec

_TYPE_META = {"apiVersion": "validation/v1", "kind": "Validation"}


def default_errors(props: Props, path: Path, *, resource_root: bool, require_pruned: bool) -> list[FieldError]:
    """Return the errors of the defaults in a structural schema: unknown fields, bad metadata, invalid values.

    Defaults inside the metadata of a resource are validated as part of an object around them. From others, as upstream, unknown
    fields of embedded metadata are dropped, in place. Rules (x-kubernetes-validations) are not evaluated on defaults here.
    """
    schema = Structural(props)
    if resource_root:
        schema = schema.as_resource()
        for child in schema.children():
            child.parent = schema
    validator = _Validator(require_pruned=require_pruned)
    validator.validate_node(schema, path, schema, inside_meta=False)
    return validator.errors


class _Validator:
    __slots__ = ("_require_pruned", "errors")

    def __init__(self, *, require_pruned: bool) -> None:
        self._require_pruned = require_pruned
        self.errors: list[FieldError] = []

    def validate_node(self, schema: Structural, path: Path, root: Structural, *, inside_meta: bool) -> None:
        """Validate the default of a node and of the nodes below; root is the nearest resource."""
        if schema.embedded:
            root, inside_meta = schema, False
        if schema.default is not None:
            validate = self._inside_metadata if inside_meta else self._ordinary
            validate(schema, path.child("default"), root)
        # Defaults below additionalProperties are forbidden.
        if schema.items is not None:
            self.validate_node(schema.items, path.child("items"), root, inside_meta=inside_meta)
        if schema.properties:
            below = path.child("properties")
            for key, child in schema.properties.items():
                inside = inside_meta or (schema.embedded and key in META_FIELDS)
                self.validate_node(child, below.key(key), root, inside_meta=inside)

    def _inside_metadata(self, schema: Structural, path: Path, root: Structural) -> None:
        around: dict[str, Any] = _TYPE_META | surround(json_values.copy(schema.default), steps_to(schema, root))
        try:
            coerce(around, root, resource_root=True)
        except CoercionError as error:
            self.errors.append(invalid(path, schema.default, f"must result in valid metadata: {error}"))
            return
        if wrong := resource_errors(around, root, resource_root=True):
            self.errors.append(invalid(path, schema.default, f"must result in valid metadata: {aggregate(wrong)}"))
            return
        self._value(schema, schema.default, path)

    def _ordinary(self, schema: Structural, path: Path, _: Structural) -> None:
        value = schema.default
        if self._require_pruned:
            pruned = json_values.copy(value)
            prune(pruned, schema, resource_root=schema.embedded)
            if not json_values.equal(pruned, value):
                self.errors.append(invalid(path, json_values.copy(value), "must not have unknown fields"))
        try:
            coerce(value, schema, resource_root=schema.embedded)
        except CoercionError as error:
            self.errors.append(_rebased(error.error, path))
            return
        if wrong := resource_errors(value, schema, resource_root=schema.embedded, base=str(path)):
            self.errors.extend(wrong)
            return
        self._value(schema, value, path)

    def _value(self, schema: Structural, value: Any, path: Path) -> None:
        result = report(Spec(schema.raw, served=False), value, "")
        self.errors.extend(to_field_errors(str(path), result))


def _rebased(error: FieldError, path: Path) -> FieldError:
    """Return an error of the default as an error of the schema."""
    joint = "" if error.field.startswith("[") else "."
    return FieldError(error.type, f"{path}{joint}{error.field}", error.bad_value, error.detail)
