"""Validation of one version of a definition and its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.resources.definitions.validation import go_printing, known_schemas
from apiext.resources.definitions.validation.columns import column_errors, deprecation_errors, selectable_errors, subresource_errors
from apiext.resources.definitions.validation.openapi import openapi_errors
from apiext.resources.definitions.validation.rule_scope import root_scope
from apiext.resources.definitions.validation.schemas import openapi_schema
from apiext.schema.cel.cost.limits import SchemaCosts
from apiext.schema.cel.rules.rule import NO_EXPRESSIONS
from apiext.schema.defaulting.validation import default_errors
from apiext.schema.model import unsupported_field
from apiext.schema.structural import structural_errors

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.definitions.validation.options import ValidationOptions
    from apiext.schema.model import Props

_ROOT_FIELDS: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems "
    "UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
"""Go names of the allowed fields at the root of a schema with the status subresource."""
_ALLOWED: Final = frozenset(_ROOT_FIELDS.split())
_IF_STATUS_ENABLED: Final = "if the status subresource is enabled"


def version_errors(version: Object, path: Path, options: ValidationOptions, *, has_status: bool) -> list[FieldError]:
    """Return the errors of a version in v1beta1 form; `has_status` includes the subresources of the spec.

    Raises:
        HeavyWorkError: the validation takes too long for the event loop.
    """
    validation = version.get("schema")
    errors = deprecation_errors(version, path)
    errors += validation_errors(validation, path.child("schema"), options, version=version["name"], has_status=has_status)
    errors += subresource_errors(version.get("subresources"), path.child("subresources"))
    errors += column_errors(version, path)
    return errors + selectable_errors(
        version,
        openapi_schema(validation),
        path,
        too_many=version["name"] in options.too_many_selectable,
        without_schema="may only be set when `version.schema.openAPIV3Schema` is not included",
    )


def validation_errors(
    validation: Object | None, path: Path, options: ValidationOptions, *, version: str, has_status: bool
) -> list[FieldError]:
    """Return the errors of a CustomResourceValidation (validateCustomResourceDefinitionValidation).

    Raises:
        HeavyWorkError: the validation takes too long for the event loop.
    """
    root, schema_path = openapi_schema(validation), path.child("openAPIV3Schema")
    if root is None:
        return []
    errors = _status_errors(root, path) if has_status else []
    if root.get("nullable"):
        errors.append(field.forbidden(path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
    is_stored, known_as = version in options.unchanged_versions, known_schemas.digest(root)
    if known_as in known_schemas.VALID or (is_stored and known_as in known_schemas.VALID_IF_STORED):
        return errors
    errors += _schema_errors(root, schema_path, options, version, has_errors=bool(errors))
    # a schema whose defaults lost unknown fields of embedded metadata must lose them again
    if not errors and options.is_strict and known_schemas.digest(root) == known_as:
        if is_stored:
            known_schemas.VALID_IF_STORED.add(known_as)
        elif options.stored_expressions == NO_EXPRESSIONS:
            known_schemas.VALID.add(known_as)
    return errors


def _schema_errors(root: Props, schema_path: Path, options: ValidationOptions, version: str, *, has_errors: bool) -> list[FieldError]:
    """Return the errors of a schema, except those of its root. `has_errors`: whether there are such."""
    errors: list[FieldError] = []
    unsupported = unsupported_field(root) if options.structural else ""
    costs, scope = SchemaCosts(suppressed=version in options.unchanged_versions), None
    if options.structural and not unsupported:
        problems = structural_errors(root, schema_path) or default_errors(root, schema_path, require_pruned=options.pruned_defaults)
        errors += problems
        if not problems:
            scope = root_scope(root, costs, options.stored_expressions)
    errors += openapi_errors(root, schema_path, options, scope)
    if unsupported and not errors and not has_errors:
        # Usually, another error explains why the schema is unsupported.
        errors.append(field.invalid(schema_path, "", unsupported))
    return errors + costs.errors(schema_path)


def _status_errors(root: Props, path: Path) -> list[FieldError]:
    """Return an error for a root field that extracting the status schema would lose."""
    for name, go_name in go_printing.SCHEMA_FIELDS.items():
        # Canonical form omits zero values.
        if name not in root or (name == "items" and root[name] is None):
            continue
        if go_name == "Type":
            if root["type"] != "object":
                detail = f'only "object" is allowed as the type at the root of the schema {_IF_STATUS_ENABLED}'
                return [field.invalid(path.child("openAPIV3Schema.type"), root["type"], detail)]
        elif go_name not in _ALLOWED:
            detail = f"only [{_ROOT_FIELDS}] fields are allowed at the root of the schema {_IF_STATUS_ENABLED}"
            return [field.invalid(path.child("openAPIV3Schema"), go_printing.schema(root), detail)]
    return []
