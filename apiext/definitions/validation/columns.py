"""Validation of a version's printer columns, subresources, selectable fields and deprecation warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions.validation import go_printing
from apiext.definitions.validation.field_path import FieldPathError, resolve
from apiext.definitions.validation.options import MAX_SELECTABLE_FIELDS
from apiext.meta import field
from apiext.meta.names import size

if TYPE_CHECKING:
    from apiext.definitions.validation.schemas import Props
    from apiext.meta.field import FieldError, Path
    from apiext.meta.json_codec import Object

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_WARNING_CHARACTERS: Final = 256


def column_errors(column: Object, path: Path) -> list[FieldError]:
    """Return the errors of a printer column in v1beta1 form (ValidateCustomResourceColumnDefinition)."""
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
    if not column["JSONPath"]:
        errors.append(field.required(path.child("JSONPath")))
    return errors + _simple_path(column["JSONPath"], path.child("JSONPath"))


def subresource_errors(subresources: Object | None, path: Path) -> list[FieldError]:
    """Return the errors of the scale subresource's paths (ValidateCustomResourceDefinitionSubresources)."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, parent in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        here = path.child(f"scale.{key}")
        if not scale[key]:
            errors.append(field.required(here))
            continue
        problems = _simple_path(scale[key], here)
        if not problems and not scale[key].startswith(f"{parent}."):
            problems = [field.invalid(here, scale[key], f"should be a json path under {parent}")]
        errors += problems
    label = scale.get("labelSelectorPath")
    if label:
        here = path.child("scale.labelSelectorPath")
        problems = _simple_path(label, here)
        if not problems and not label.startswith((".spec.", ".status.")):
            problems = [field.invalid(here, go_printing.text(label), "should be a json path under either .spec or .status")]
        errors += problems
    return errors


def _simple_path(text: str, path: Path) -> list[FieldError]:
    if text and not text.startswith("."):
        return [field.invalid(path, text, "must be a simple json path starting with .")]
    return []


def selectable_errors(fields: list[Object], schema: Props, path: Path, *, too_many: bool) -> list[FieldError]:
    """Return the errors of selectable fields: each path must lead to a scalar, and be unique (ValidateCustomResourceSelectableFields).

    `too_many` permits more than MAX_SELECTABLE_FIELDS fields.
    """
    errors: list[FieldError] = []
    seen: set[tuple[str, ...]] = set()
    for index, selectable in enumerate(fields):
        text, here = selectable["jsonPath"], path.index(index).child("jsonPath")
        if not text:
            errors.append(field.required(here))
            continue
        try:
            steps, found = resolve(text, schema, arrays=False)
        except FieldPathError as error:
            errors.append(field.invalid(here, text, f"is an invalid path: {error}"))
            continue
        if steps[0] == ".metadata":
            errors.append(field.invalid(here, text, "must not point to fields in metadata"))
        if found is None or found.get("type") not in ("string", "boolean", "integer"):
            detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            errors.append(field.invalid(here, text, detail))
        if steps in seen:
            errors.append(field.duplicate(here, text))
        seen.add(steps)
    if len(seen) > MAX_SELECTABLE_FIELDS and not too_many:
        errors.append(field.too_many(path, len(seen), MAX_SELECTABLE_FIELDS))
    return errors


def deprecation_errors(version: Object, path: Path) -> list[FieldError]:
    """Return the errors of a deprecation warning: it must be short and printable, and the version deprecated."""
    warning, here = version.get("deprecationWarning"), path.child("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [field.invalid(here, go_printing.text(warning), "can only be set for deprecated versions")]
    problems = []
    if size(warning) > _MAX_WARNING_CHARACTERS:
        problems.append(f"must be <= {_MAX_WARNING_CHARACTERS} characters long")
    if not warning:
        problems.append("must not be an empty string")
    bad = next((index for index, char in enumerate(warning) if not char.isprintable()), None)
    if bad is not None:
        position = size(warning[:bad])
        problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {position}")
    return [field.invalid(here, go_printing.text(warning), problem) for problem in problems]
