"""Validation of a version's printer columns, subresources, selectable fields and deprecation warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.base.meta.names import size
from apiext.resources.definitions.validation.options import MAX_SELECTABLE_FIELDS
from apiext.schema.field_path import FieldPathError, resolve
from apiext.schema.model import unsupported_field

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.schema.model import Props

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SCALE_PATHS: Final = {
    "specReplicasPath": ((".spec.",), "should be a json path under .spec"),
    "statusReplicasPath": ((".status.",), "should be a json path under .status"),
    "labelSelectorPath": ((".spec.", ".status."), "should be a json path under either .spec or .status"),
}
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_NOT_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_MAX_WARNING_BYTES: Final = 256


def column_errors(owner: Object, path: Path) -> list[FieldError]:
    """Return the errors of the printer columns of a spec or a version in v1beta1 form (ValidateCustomResourceColumnDefinition)."""
    columns = owner.get("additionalPrinterColumns") or ()
    columns_path = path.child("additionalPrinterColumns")
    return [error for index, column in enumerate(columns) for error in _column_errors(column, columns_path.index(index))]


def _column_errors(column: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if not column["name"]:
        errors.append(field.required(path.child("name")))
    types = f"must be one of {','.join(_TYPES)}"
    if not column["type"]:
        errors.append(field.required(path.child("type"), types))
    elif column["type"] not in _TYPES:
        errors.append(field.invalid(path.child("type"), column["type"], types))
    if column.get("format") and column["format"] not in _FORMATS:
        errors.append(field.invalid(path.child("format"), column["format"], f"must be one of {','.join(_FORMATS)}"))
    json_path = column["JSONPath"]
    if not json_path:
        errors.append(field.required(path.child("JSONPath")))
    elif not json_path.startswith("."):
        errors.append(_not_simple(json_path, path.child("JSONPath")))
    return errors


def subresource_errors(subresources: Object | None, path: Path) -> list[FieldError]:
    """Return the errors of the scale subresource's paths (ValidateCustomResourceDefinitionSubresources)."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, (prefixes, detail) in _SCALE_PATHS.items():
        json_path, key_path = scale.get(key), path.child(f"scale.{key}")
        is_optional = key == "labelSelectorPath"
        if not json_path:
            if not is_optional:
                errors.append(field.required(key_path))
        elif not json_path.startswith("."):
            errors.append(_not_simple(json_path, key_path))
        elif not json_path.startswith(prefixes):
            errors.append(field.invalid(key_path, field.typed_text(json_path) if is_optional else json_path, detail))
    return errors


def _not_simple(json_path: str, path: Path) -> FieldError:
    return field.invalid(path, json_path, "must be a simple json path starting with .")


def selectable_errors(owner: Object, schema: Props | None, path: Path, *, too_many: bool, without_schema: str) -> list[FieldError]:
    """Return the errors of the selectable fields of a spec or a version (ValidateCustomResourceSelectableFields).

    Each path must lead to a scalar, and be unique. `too_many` permits more than MAX_SELECTABLE_FIELDS fields; `without_schema` is the
    message about fields without a schema.
    """
    selectable_fields, list_path = owner.get("selectableFields"), path.child("selectableFields")
    if not selectable_fields:
        return []
    if schema is None:
        return [field.invalid(list_path, "", without_schema)]
    unsupported = unsupported_field(schema)
    if unsupported:
        return [field.invalid(path.child("schema.openAPIV3Schema"), "", unsupported)]
    errors: list[FieldError] = []
    known: set[tuple[str, ...]] = set()
    for index, selectable in enumerate(selectable_fields):
        json_path, field_path = selectable["jsonPath"], list_path.index(index).child("jsonPath")
        if not json_path:
            errors.append(field.required(field_path))
            continue
        try:
            steps, target = resolve(json_path, schema, arrays=False)
        except FieldPathError as error:
            errors.append(field.invalid(field_path, json_path, f"is an invalid path: {error}"))
            continue
        if steps[0] == ".metadata":
            errors.append(field.invalid(field_path, json_path, "must not point to fields in metadata"))
        if target is None or target.get("type") not in _SELECTABLE_TYPES:
            errors.append(field.invalid(field_path, json_path, _NOT_SELECTABLE))
        if steps in known:
            errors.append(field.duplicate(field_path, json_path))
        known.add(steps)
    if len(known) > MAX_SELECTABLE_FIELDS and not too_many:
        errors.append(field.too_many(list_path, len(known), MAX_SELECTABLE_FIELDS))
    return errors


def deprecation_errors(version: Object, path: Path) -> list[FieldError]:
    """Return the errors of a deprecation warning. It must be short and printable, and the version deprecated."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    problems = []
    if not version.get("deprecated"):
        problems.append("can only be set for deprecated versions")
    else:
        if size(warning) > _MAX_WARNING_BYTES:
            problems.append(f"must be <= {_MAX_WARNING_BYTES} characters long")
        if not warning:
            problems.append("must not be an empty string")
        unprintable = next((index for index, char in enumerate(warning) if not char.isprintable()), None)
        if unprintable is not None:
            position = size(warning[:unprintable])
            problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {position}")
    return [field.invalid(path.child("deprecationWarning"), field.typed_text(warning), problem) for problem in problems]
