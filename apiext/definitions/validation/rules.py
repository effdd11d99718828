"""Validation of x-kubernetes-validations, without compilation of the expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import field
from apiext.meta.golang.formatting import trim_space
from apiext.schema.field_path import FieldPathError, resolve
from apiext.schema.model import unsupported_field

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError, Path
    from apiext.schema.model import Props

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAKS: Final = "must not contain line breaks"
_EMPTY: Final = "must be non-empty if specified"


def rule_errors(rules: list[Object], node: Props, path: Path) -> list[FieldError]:
    """Return the errors of the rules of one node, except those of their expressions."""
    errors: list[FieldError] = []
    supported = not unsupported_field(node) if any(rule.get("fieldPath") for rule in rules) else True
    for index, rule in enumerate(rules):
        errors += _message_errors(rule, path.index(index))
        errors += _other_errors(rule, node if supported else None, path.index(index))
    return errors


def _message_errors(rule: Object, path: Path) -> list[FieldError]:
    message = rule.get("message", "")
    expression, trimmed_message = trim_space(rule["rule"]), trim_space(message)
    if not expression:
        return [field.required(path.child("rule"), "rule is not specified")]
    if message and not trimmed_message:
        return [field.invalid(path.child("message"), message, _EMPTY)]
    if _has_line_breaks(trimmed_message):
        return [field.invalid(path.child("message"), message, _LINE_BREAKS)]
    if _has_line_breaks(expression) and not trimmed_message:
        return [field.required(path.child("message"), "message must be specified if rule contains line breaks")]
    return []


def _other_errors(rule: Object, node: Props | None, path: Path) -> list[FieldError]:
    """Return the errors of the other members. Without a node, do not resolve paths."""
    errors: list[FieldError] = []
    expression, reason, field_path = rule.get("messageExpression", ""), rule.get("reason"), rule.get("fieldPath", "")
    if expression and not trim_space(expression):
        detail = "messageExpression must be non-empty if specified"
        errors.append(field.required(path.child("messageExpression"), detail))
    if reason is not None and reason not in _REASONS:
        errors.append(field.not_supported(path.child("reason"), field.typed_text(reason), _REASONS))
    problems = []
    if field_path and not trim_space(field_path):
        problems.append(_EMPTY)
    if _has_line_breaks(field_path):
        problems.append(_LINE_BREAKS)
    if field_path and node is not None and not _is_valid_path(field_path, node):
        problems.append("must be a valid path")
    return errors + [field.invalid(path.child("fieldPath"), field_path, problem) for problem in problems]


def _is_valid_path(path: str, node: Props) -> bool:
    try:
        resolve(path, node)
    except FieldPathError:
        return False
    return True


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
