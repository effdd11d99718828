"""Structural invariants of a schema (schema/validation.go): the rules of NewStructural and ValidateStructural.

Completeness: schema/complete.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.field import FieldError, Path, forbidden, invalid, limited, required
from apiext.base.meta.limits import MAX_DEPTH
from apiext.base.scheduling.inline_work import PartialWork
from apiext.schema.keywords import JUNCTORS, KEYWORDS, POINTERS, Kind, of_kind
from apiext.schema.model import Props
from apiext.schema.pattern import PatternError, check_pattern

_INT_OR_STRING = ("integer", "string")
_TOO_DEEP = f"must not be nested deeper than {MAX_DEPTH} levels"


def completeness_errors(props: Props, path: Path, errors: list[FieldError]) -> None:
    """Append an error for each field under allOf, anyOf, oneOf and not that the schema itself does not specify.

    As in the reference, only the junctors of the root are checked.
    """
    _validations(props, props, path, path, errors)


def _validations(nested: Props, props: Props, s_path: Path, v_path: Path, errors: list[FieldError]) -> None:
    if nested.get("not") is not None:
        _incomplete(nested["not"], props, s_path, v_path.child("not"), errors)
    for junctor in JUNCTORS:
        for index, clause in enumerate(nested.get(junctor) or ()):
            _incomplete(clause or {}, props, s_path, v_path.child(junctor).index(index), errors)


def _incomplete(nested: Props, props: Props | None, s_path: Path, v_path: Path, errors: list[FieldError]) -> None:
    if props is None:
        errors.append(required(s_path, f"because it is defined in {v_path}"))
        return
    _validations(nested, props, s_path, v_path, errors)
    if nested.get("items") is not None:
        _incomplete(nested["items"], props.get("items"), s_path.child("items"), v_path.child("items"), errors)
    properties: Mapping[str, Any] = props.get("properties") or {}
    for key, child in (nested.get("properties") or {}).items():
        s_below, v_below = s_path.child("properties").key(key), v_path.child("properties").key(key)
        if key in properties:
            _incomplete(child or {}, properties[key] or {}, s_below, v_below, errors)
        else:
            errors.append(required(s_below, f"because it is defined in {v_below}"))


class Level(Enum):
    """The place of a node in the schema; the value is the message about an empty type there."""

    ROOT = "must not be empty at the root"
    ITEM = "must not be empty for specified array items"
    FIELD = "must not be empty for specified object fields"


def structural_errors(props: Props, path: Path) -> list[FieldError]:
    """Return the violations of structurality, sorted by their text; empty for a structural schema.

    `model.unsupported_field` must accept the schema.
    """
    if is_deeper(props, MAX_DEPTH):
        return [forbidden(path, _TOO_DEEP)]
    errors: list[FieldError] = []
    _invariants(props, Level.ROOT, path, errors)
    completeness_errors(props, path, errors)
    return sorted(limited(errors), key=str)


def stored_structural_errors(props: Props, path: Path) -> list[FieldError]:
    """Return the violations of a stored schema. Its patterns were checked before; those that take long are not checked again."""
    with PartialWork(trusting=True):
        return structural_errors(props, path)


def _invariants(props: Props, level: Level, path: Path, errors: list[FieldError]) -> None:
    items = props.get("items")
    properties: Mapping[str, Any] = props.get("properties") or {}
    additional = props.get("additionalProperties")
    if props.get("type") == "array" and items is None:
        errors.append(required(path.child("items"), "must be specified"))
    if items is not None:
        _invariants(items, Level.ITEM, path.child("items"), errors)
    if properties:
        properties_path = path.child("properties")
        for key, child in properties.items():
            _invariants(child or {}, Level.FIELD, properties_path.key(key), errors)
    if additional is not None:
        if level is Level.ROOT:
            errors.append(forbidden(path.child("additionalProperties"), "must not be used at the root"))
        if isinstance(additional, Mapping):
            _invariants(additional, Level.FIELD, path.child("additionalProperties"), errors)
    if props.get("x-kubernetes-int-or-string") is True:
        errors += (
            invalid(path.child(key), value=True, detail="must be false if x-kubernetes-int-or-string is true")
            for key in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
            if props.get(key) is True
        )
    all_of: list[Props] = props.get("allOf") or [{}]
    _value_validation(props, path, errors, skip_any_of=_is_int_or_string(props), skip_all_of=_is_int_or_string(all_of[0] or {}))
    _type_rules(props, level, path, errors)
    if "kind" in properties or "apiVersion" in properties or "metadata" in properties:
        _meta_properties(props, level, path, errors)
    embedded, preserve = (props.get(f"x-kubernetes-{key}") is True for key in ("embedded-resource", "preserve-unknown-fields"))
    if embedded and not preserve and not properties:
        reason = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        errors.append(required(path.child("properties"), reason))


def _type_rules(props: Props, level: Level, path: Path, errors: list[FieldError]) -> None:
    kind = props.get("type") or ""
    embedded = props.get("x-kubernetes-embedded-resource") is True
    type_path = path.child("type")
    if embedded and kind != "object":
        reason = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(type_path, kind, reason) if kind else required(type_path, reason))
    elif not kind and not any(props.get(key) is True for key in ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")):
        errors.append(required(type_path, level.value))
    if embedded and props.get("additionalProperties") is not None:
        reason = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(path.child("additionalProperties"), reason))
    if level is Level.ROOT and kind and kind != "object":
        errors.append(invalid(type_path, kind, "must be object at the root"))


def _meta_properties(props: Props, level: Level, path: Path, errors: list[FieldError]) -> None:
    """Check apiVersion, kind and metadata of a resource, which may only be restricted in a few ways."""
    properties = props["properties"]
    resource = level is Level.ROOT or props.get("x-kubernetes-embedded-resource") is True
    properties_path = path.child("properties")
    for key in ("kind", "apiVersion"):
        if resource and key in properties:
            kind = (properties[key] or {}).get("type") or ""
            if kind != "string":
                errors.append(invalid(properties_path.key(key).child("type"), kind, "must be string"))
    if "metadata" in properties:
        metadata: Props = properties["metadata"] or {}
        metadata_path = properties_path.key("metadata")
        kind = metadata.get("type") or ""
        if resource and kind != "object":
            errors.append(invalid(metadata_path.child("type"), kind, "must be object"))
        if level is Level.ROOT and not _restricts_names_only(metadata):
            reason = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(metadata_path, reason))


def _restricts_names_only(metadata: Props) -> bool:
    members = set_members(metadata, "additionalProperties") - {"type", "default"}
    names = (metadata.get("properties") or {}).keys()
    if names and names <= {"name", "generateName"}:
        members.discard("properties")
    return not members


def _value_validation(props: Props, path: Path, errors: list[FieldError], *, skip_any_of: bool = False, skip_all_of: bool = False) -> None:
    if not skip_any_of:
        for index, nested in enumerate(props.get("anyOf") or ()):
            _nested(nested, path.child("anyOf").index(index), errors)
    for index, nested in enumerate(props.get("allOf") or ()):
        _nested(nested, path.child("allOf").index(index), errors, skip_any_of=skip_all_of and index == 0)
    for index, nested in enumerate(props.get("oneOf") or ()):
        _nested(nested, path.child("oneOf").index(index), errors)
    if props.get("not") is not None:
        _nested(props["not"], path.child("not"), errors)
    if pattern := props.get("pattern"):
        try:
            check_pattern(pattern)
        except PatternError as error:
            reason = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(path.child("pattern"), pattern, reason))


_ABSENT: Mapping[Kind, str] = {"text": "empty", "names": "empty", "rules": "empty", "flag": "false", "optional flag": "false"}
_FORBIDDEN_IN_NESTED = tuple((each.name, _ABSENT.get(each.kind, "undefined")) for each in KEYWORDS if not each.nested)


def _nested(props: Props | None, path: Path, errors: list[FieldError], *, skip_any_of: bool = False) -> None:
    props = props or {}
    _value_validation(props, path, errors, skip_any_of=skip_any_of)
    if props.get("items") is not None:
        _nested(props["items"], path.child("items"), errors)
    properties: Mapping[str, Any] = props.get("properties") or {}
    for key, child in properties.items():
        _nested(child, path.child("properties").key(key), errors)
    if props.get("additionalProperties") not in (None, False):
        errors.append(forbidden(path.child("additionalProperties"), "must be undefined to be structural"))
    for key, allowed in _FORBIDDEN_IN_NESTED:
        value = props.get(key)
        if value or (allowed == "undefined" and value is not None):
            errors.append(forbidden(path.child(key), f"must be {allowed} to be structural"))
    if "metadata" in properties:
        metadata_path = path.child("properties").key("metadata")
        errors.append(forbidden(metadata_path, "must not be specified in a nested context"))


def _is_int_or_string(props: Props) -> bool:
    """Return whether anyOf is exactly [{type: integer}, {type: string}]."""
    any_of: list[Props] = props.get("anyOf") or []
    return len(any_of) == len(_INT_OR_STRING) and all(
        (nested or {}).get("type") == kind and set_members(nested, "properties") == {"type"}
        for nested, kind in zip(any_of, _INT_OR_STRING, strict=True)
    )


_SET_BY_PRESENCE = frozenset(of_kind(*POINTERS, "names", "rules", structural=True)) - {"additionalProperties"}


def set_members(props: Props, *by_presence: str) -> set[str]:
    """Return the keywords in which the schema differs from Go's zero value; those in `by_presence` count even if empty."""
    return {
        key
        for key, value in props.items()
        if value is not None
        and (value or key in _SET_BY_PRESENCE or key in by_presence or (key == "additionalProperties" and value is not False))
    }
