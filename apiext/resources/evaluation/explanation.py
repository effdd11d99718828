"""Explains one update: which violations are errors, which are tolerated because of ratcheting, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.field import ErrorType
from apiext.resources.evaluation.fields import steps_of
from apiext.resources.evaluation.unchanged_values import ValueComparison
from apiext.resources.registry.metadata import own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.evaluation.compiled_version import CompiledVersion

_COMPOSITE: Final = re.compile(r'"(.*?)" must (?:not )?validate ')
"""A violation of a combination of schemas: it is reported at the root and names the value."""
_EVALUATION: Final = (
    " evaluating rule: ",
    "rule compile error: ",
    "no further validation rules will be run",
    "validation rules were not checked",
)
_RULE_ALWAYS: Final = "an error of the evaluation itself is never tolerated"
_TRANSITION: Final = "the rule refers to oldSelf: rules about changes are never tolerated"
_CREATE: Final = "a create tolerates nothing"


@dataclass(frozen=True, slots=True)
class ExplainedError:
    """A violation with the reason for its treatment."""

    path: str
    message: str
    is_tolerated: bool
    why: str


@dataclass(slots=True)
class Explanation:
    """The violations of one update."""

    version: str
    is_accepted: bool = True
    answer: str = ""
    """The message of the server's refusal."""
    errors: list[ExplainedError] = field(default_factory=list)
    """Violations that make the server refuse the update, in its order."""
    tolerated: list[ExplainedError] = field(default_factory=list)
    unchecked: list[ExplainedError] = field(default_factory=list)
    """Violated rules that the server does not check before other errors are corrected."""
    warnings: list[str] = field(default_factory=list)
    """The warnings of the server's answer."""
    unknown: list[str] = field(default_factory=list)
    """Messages about fields that the version does not have; the server drops them."""


def explain_update(version: CompiledVersion, given: Object, old: Object | None, subresource: str = "") -> Explanation:
    """Return the violations of an object that a client sends, in place of an old one as a read gives it, or as a new object.

    Raises:
        ValueError: the object cannot be decoded.
    """
    found = Explanation(version.name)
    body, found.unknown = version.decode(given)
    if old is None:
        return _creation(version, body, found)
    body = own(body)
    _complete(body["metadata"], old["metadata"])
    new, found.warnings, refusal = version.update(body, old, subresource)
    reasons = _Reasons(version, new, old, subresource)
    refused: Sequence[FieldError] = refusal.errors if refusal is not None else ()
    if refusal is not None:
        found.is_accepted, found.answer = False, refusal.status.message
        found.errors = [reasons.error(each) for each in refused] or _causes(refusal.status)
    seen = {str(error) for error in refused}
    found.tolerated = [reasons.tolerated(error) for error in reasons.tolerable if str(error) not in seen]
    for error in reasons.rule_errors:
        if str(error) in reasons.rule_warnings:
            found.tolerated.append(reasons.tolerated(error, is_rule=True))
        elif str(error) not in seen:
            found.unchecked.append(reasons.error(error))
    return found


def _creation(version: CompiledVersion, body: Object, found: Explanation) -> Explanation:
    problems = version.create_errors(body)
    found.errors = [ExplainedError(error.field, error.body(), is_tolerated=False, why=_CREATE) for error in problems]
    found.is_accepted = not problems
    if problems:
        kind = version.kind.group_kind
        found.answer = errors.invalid(kind, body["metadata"].get("name", ""), problems).message
    return found


def _complete(metadata: Object, before: Object) -> None:
    """Give an object the metadata that the server keeps in an update, and the resourceVersion of the old one."""
    for name in ("uid", "creationTimestamp", "resourceVersion", "namespace", "managedFields", "deletionTimestamp"):
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]


def _causes(status: errors.StatusError) -> list[ExplainedError]:
    causes = (status.details or {}).get("causes") or [{"message": status.message}]
    why = "only violations of the schema are tolerated"
    return [ExplainedError(cause.get("field", ""), cause["message"], is_tolerated=False, why=why) for cause in causes]


class _Reasons:
    """Finds out why violations are errors or tolerated."""

    def __init__(self, version: CompiledVersion, new: Object, old: Object, subresource: str) -> None:
        schema = version.schema
        self._comparison = ValueComparison(new, old, schema.structural.raw)
        self._new = new
        values = schema.validate_status(new) if subresource == "status" else schema.validate_values(new)
        self.tolerable = [*values, *schema.validate_lists(new)]
        """Violations that may be tolerated."""
        self.rule_errors: list[FieldError] = []
        self.rule_warnings: frozenset[str] = frozenset()
        self._lists = {str(error) for error in schema.validate_lists(new)}
        if schema.has_rules:
            self.rule_errors = schema.validate_rules(new, old, is_valid=False, tolerant=False).errors
            self.rule_warnings = frozenset(schema.validate_rules(new, old, is_valid=False).warnings)
        self._rules = {str(error) for error in self.rule_errors}

    def tolerated(self, error: FieldError, *, is_rule: bool = False) -> ExplainedError:
        """Explain a violation that is tolerated."""
        if str(error) in self._lists:
            why = "the old object has repeated items in a list, too"
        else:
            why = self._comparison.unchanged(self._steps(error), nearest=is_rule)
        return ExplainedError(error.field, error.body(), is_tolerated=True, why=why)

    def error(self, error: FieldError) -> ExplainedError:
        """Explain a violation that is an error."""
        return ExplainedError(error.field, error.body(), is_tolerated=False, why=self._why(error))

    def _why(self, error: FieldError) -> str:
        if any(text in error.detail for text in _EVALUATION):
            return _RULE_ALWAYS
        if str(error) in self._lists:
            return "the old object has no repeated items in lists"
        steps = self._steps(error)
        is_rule = str(error) in self._rules
        if not is_rule and str(error) not in {str(each) for each in self.tolerable}:
            return "only violations of the schema are tolerated"
        changed = self._comparison.changed(steps, nearest=is_rule)
        if changed:
            return changed
        if is_rule:
            return _TRANSITION
        return "the value is unchanged, but the violated schema is in allOf, anyOf, oneOf or not of a value around it, which has changed"

    def _steps(self, error: FieldError) -> list[str | int]:
        text = error.field
        if text == "<nil>" and (named := _COMPOSITE.match(error.detail)) is not None:
            text = named[1]
        steps = steps_of(text, self._new)
        return steps[:-1] if error.type is ErrorType.REQUIRED and str(error) not in self._rules else steps
