"""Validation of the defaults in a schema (defaulting/validation.go)."""

from __future__ import annotations

from typing import Any

from apiext.meta import json_values
from apiext.meta.field import FieldError, Path, aggregate, invalid
from apiext.schema.defaulting.prune import steps_to, surround
from apiext.schema.lazy_path import DottedPath
from apiext.schema.model import Props, Structural
from apiext.schema.objectmeta.algorithm import CoercionError, coerce
from apiext.schema.objectmeta.validation import resource_errors
from apiext.schema.pruning import META_FIELDS, prune
from apiext.schema.validation.report import report
from apiext.schema.validation.result import to_field_errors
from apiext.schema.validation.spec import Spec

_TYPE_META = {"apiVersion": "validation/v1", "kind": "Validation"}


def default_errors(props: Props, path: Path, *, require_pruned: bool) -> list[FieldError]:
    """Return the errors of the defaults in the structural schema of a resource: unknown fields, bad metadata, invalid values.

    Defaults inside the metadata of a resource are validated as part of an object around them. From others, as upstream, unknown
    fields of embedded metadata are dropped, in place. Rules (x-kubernetes-validations) are not evaluated on defaults here.
    """
    schema = Structural(props)
    schema.embedded = True
    return _node_errors(schema, path, schema, inside_meta=False, require_pruned=require_pruned)


def _node_errors(schema: Structural, path: Path, root: Structural, *, inside_meta: bool, require_pruned: bool) -> list[FieldError]:
    """Return the errors of the defaults of a node and of the nodes below; root is the nearest resource."""
    if schema.embedded:
        root, inside_meta = schema, False
    errors: list[FieldError] = []
    if schema.default is not None:
        default_path = path.child("default")
        if inside_meta:
            errors += _metadata_default_errors(schema, default_path, root)
        else:
            errors += _default_errors(schema, default_path, require_pruned=require_pruned)
    # Defaults below additionalProperties are forbidden.
    if schema.items is not None:
        errors += _node_errors(schema.items, path.child("items"), root, inside_meta=inside_meta, require_pruned=require_pruned)
    for key, child in schema.properties.items():
        inside = inside_meta or (schema.embedded and key in META_FIELDS)
        errors += _node_errors(child, path.child("properties").key(key), root, inside_meta=inside, require_pruned=require_pruned)
    return errors


def _metadata_default_errors(schema: Structural, path: Path, root: Structural) -> list[FieldError]:
    resource: dict[str, Any] = _TYPE_META | surround(json_values.copy(schema.default), steps_to(schema, root))
    try:
        coerce(resource, root)
    except CoercionError as error:
        return [invalid(path, schema.default, f"must result in valid metadata: {error}")]
    if problems := resource_errors(resource, root):
        return [invalid(path, schema.default, f"must result in valid metadata: {aggregate(problems)}")]
    return _value_errors(schema, path)


def _default_errors(schema: Structural, path: Path, *, require_pruned: bool) -> list[FieldError]:
    value = schema.default
    errors: list[FieldError] = []
    if require_pruned:
        pruned = json_values.copy(value)
        prune(pruned, schema, report=False)
        if not json_values.equal(pruned, value):
            errors.append(invalid(path, json_values.copy(value), "must not have unknown fields"))
    try:
        coerce(value, schema)
    except CoercionError as error:
        return [*errors, _rebased(error.error, path)]
    return errors + (resource_errors(value, schema, base=str(path)) or _value_errors(schema, path))


def _value_errors(schema: Structural, path: Path) -> list[FieldError]:
    return to_field_errors(str(path), report(Spec(schema.raw, served=False), schema.default, DottedPath()))


def _rebased(error: FieldError, path: Path) -> FieldError:
    """Return an error of the default as an error of the schema."""
    joint = "" if error.field.startswith("[") else "."
    return FieldError(error.type, f"{path}{joint}{error.field}", error.bad_value, error.detail)
