"""The names of a definition's resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import field
from apiext.meta.names import dns1035_label

if TYPE_CHECKING:
    from apiext.meta.field import FieldError, Path
    from apiext.meta.json_codec import Object


def names_errors(names: Object, path: Path) -> list[FieldError]:
    """Names that are given are DNS labels, kinds in any case (ValidateCustomResourceDefinitionNames)."""
    errors: list[FieldError] = []
    for key in ("plural", "singular"):
        name = names.get(key)
        if name and (problems := dns1035_label(name)):
            errors.append(field.invalid(path.child(key), name, ",".join(problems)))
    for key in ("kind", "listKind"):
        name = names.get(key)
        if name and (problems := dns1035_label(name.lower())):
            detail = "may have mixed case, but should otherwise match: " + ",".join(problems)
            errors.append(field.invalid(path.child(key), name, detail))
    errors += _list(names, "shortNames", path)
    if names["kind"] and names["kind"] == names.get("listKind"):
        errors.append(field.invalid(path.child("listKind"), names["listKind"], "kind and listKind may not be the same"))
    return errors + _list(names, "categories", path)


def missing_names(names: Object, path: Path) -> list[FieldError]:
    """Names that the spec must have, and the status need not."""
    return [field.required(path.child(key)) for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]


def _list(names: Object, key: str, path: Path) -> list[FieldError]:
    return [
        field.invalid(path.child(key).index(index), name, ",".join(problems))
        for index, name in enumerate(names.get(key) or ())
        if (problems := dns1035_label(name))
    ]
