"""Validation of the defaults in a schema (defaulting/validation.go)."""

from __future__ import annotations

from typing import Any

from apiext.base.meta.encoding import json_values
from apiext.base.meta.field import FieldError, Path, aggregate, invalid
from apiext.schema.cel.rules.budget import MAX_OBJECT_COST
from apiext.schema.cel.rules.evaluation import evaluate
from apiext.schema.cel.rules.tree import rule_tree
from apiext.schema.defaulting.prune import surround
from apiext.schema.embedded_metadata import CoercionError, coerce, resource_errors
from apiext.schema.field_path import DottedPath
from apiext.schema.model import Props, Structural
from apiext.schema.pruning import META_FIELDS, prune
from apiext.schema.validation.result import to_field_errors
from apiext.schema.validation.spec import Spec

_TYPE_META = {"apiVersion": "validation/v1", "kind": "Validation"}


def default_errors(props: Props, path: Path, *, require_pruned: bool) -> list[FieldError]:
    """Return the errors of the defaults in the structural schema of a resource: unknown fields, bad metadata, invalid values.

    Defaults inside a resource's metadata are validated as part of an object around them. Others lose unknown fields of embedded
    metadata, in place, as upstream.
    """
    schema = Structural(props)
    schema.embedded = True
    validator = _DefaultValidator(require_pruned=require_pruned)
    validator.visit(schema, path, schema, inside_meta=False)
    return validator.errors


class _DefaultValidator:
    """Collects the errors of the defaults in a schema. All rules share one budget."""

    __slots__ = ("_budget", "_require_pruned", "errors")

    def __init__(self, *, require_pruned: bool) -> None:
        self.errors: list[FieldError] = []
        self._budget = MAX_OBJECT_COST
        self._require_pruned = require_pruned

    def visit(self, schema: Structural, path: Path, root: Structural, *, inside_meta: bool) -> None:
        """Validate the defaults of a node and of the nodes below. `root` is the nearest resource."""
        if schema.embedded:
            root, inside_meta = schema, False
        if schema.default is not None:
            self._validate(schema, path.child("default"), root, inside_meta=inside_meta)
        # Defaults below additionalProperties are forbidden.
        if schema.items is not None and self._budget >= 0:
            self.visit(schema.items, path.child("items"), root, inside_meta=inside_meta)
        for key, child in schema.properties.items():
            if self._budget < 0:
                return
            inside = inside_meta or (schema.embedded and key in META_FIELDS)
            self.visit(child, path.child("properties").key(key), root, inside_meta=inside)

    def _validate(self, schema: Structural, path: Path, root: Structural, *, inside_meta: bool) -> None:
        if inside_meta:
            errors = _metadata_errors(schema, path, root)
        else:
            if self._require_pruned:
                self.errors += _pruning_errors(schema, path)
            errors = _resource_errors(schema, path)
        self.errors += errors or _value_errors(schema, path) or self._rule_errors(schema, path)

    def _rule_errors(self, schema: Structural, path: Path) -> list[FieldError]:
        rules = rule_tree(schema) if schema.has_rules else None
        if rules is None:
            return []
        # validate it as an unchanged value, then as a new one for rules that constrain changes
        result = evaluate(rules, schema.default, schema.default, limit=self._budget, is_valid=False, base=str(path))
        left, errors = result.left, result.errors
        if not errors:
            result = evaluate(rules, schema.default, None, limit=self._budget, is_valid=False, base=str(path))
            left, errors = min(left, result.left), result.errors
        self._budget = left
        return errors


def _metadata_errors(schema: Structural, path: Path, root: Structural) -> list[FieldError]:
    resource: dict[str, Any] = _TYPE_META | surround(json_values.copy(schema.default), schema.steps[len(root.steps) :])
    try:
        coerce(resource, root)
    except CoercionError as error:
        return [invalid(path, schema.default, f"must result in valid metadata: {error}")]
    if problems := resource_errors(resource, root):
        return [invalid(path, schema.default, f"must result in valid metadata: {aggregate(problems)}")]
    return []


def _pruning_errors(schema: Structural, path: Path) -> list[FieldError]:
    pruned = json_values.copy(schema.default)
    prune(pruned, schema, report=False)
    if json_values.equal(pruned, schema.default):
        return []
    return [invalid(path, json_values.copy(schema.default), "must not have unknown fields")]


def _resource_errors(schema: Structural, path: Path) -> list[FieldError]:
    try:
        coerce(schema.default, schema)
    except CoercionError as error:
        return [_rebased(error.error, path)]
    return resource_errors(schema.default, schema, base=str(path))


def _value_errors(schema: Structural, path: Path) -> list[FieldError]:
    return to_field_errors(str(path), Spec(schema.raw, served=False).report(schema.default, DottedPath()))


def _rebased(error: FieldError, path: Path) -> FieldError:
    """Return an error of the default with the schema's path."""
    joint = "" if error.field.startswith("[") else "."
    return FieldError(error.type, f"{path}{joint}{error.field}", error.bad_value, error.detail)
