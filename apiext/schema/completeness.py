"""Completeness: every field that a value validation names is specified structurally (schema/complete.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiext.base.meta.field import FieldError, Path, required
from apiext.schema.keywords import JUNCTORS
from apiext.schema.model import Props


def completeness_errors(props: Props, path: Path, errors: list[FieldError]) -> None:
    """Append an error for each field under allOf, anyOf, oneOf and not that the schema itself does not specify.

    As in the reference, only the junctors of the root are checked.
    """
    _validations(props, props, path, path, errors)


def _validations(nested: Props, props: Props, s_path: Path, v_path: Path, errors: list[FieldError]) -> None:
    if nested.get("not") is not None:
        _nested(nested["not"], props, s_path, v_path.child("not"), errors)
    for junctor in JUNCTORS:
        for index, clause in enumerate(nested.get(junctor) or ()):
            _nested(clause or {}, props, s_path, v_path.child(junctor).index(index), errors)


def _nested(nested: Props, props: Props | None, s_path: Path, v_path: Path, errors: list[FieldError]) -> None:
    if props is None:
        errors.append(required(s_path, f"because it is defined in {v_path}"))
        return
    _validations(nested, props, s_path, v_path, errors)
    if nested.get("items") is not None:
        _nested(nested["items"], props.get("items"), s_path.child("items"), v_path.child("items"), errors)
    properties: Mapping[str, Any] = props.get("properties") or {}
    for key, child in (nested.get("properties") or {}).items():
        s_below, v_below = s_path.child("properties").key(key), v_path.child("properties").key(key)
        if key in properties:
            _nested(child or {}, properties[key] or {}, s_below, v_below, errors)
        else:
            errors.append(required(s_below, f"because it is defined in {v_below}"))
