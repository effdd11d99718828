"""The keywords anyOf, oneOf, allOf and not (validate/schema_props.go). Their clauses are never ratcheted, and do not apply to null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.golang.formatting import quote
from apiext.schema.lazy_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import Constraint, Functions, NoneType
from apiext.schema.validation.result import Result, composite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.schema.validation.keywords.constraint import Check, Node


def any_of(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is valid by at least one clause."""
    clauses = _clauses(spec, kind, "anyOf")
    if not clauses:
        return None
    checks: list[Check] = []

    def check(value: Any) -> bool:
        for valid in _compiled(checks, clauses):  # noqa: SIM110 a generator would double the time
            if valid(value):
                return True
        return False

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        best: Result | None = None
        for clause in clauses:
            each = clause.report(value, name)
            if each.is_valid:
                result.merge(each)
                return
            if best is None or each.match_count > best.match_count:
                best = each
        result.add(composite(f"{quote(str(name))} must validate at least one schema (anyOf)"))
        if best is not None:
            result.merge(best)

    return Constraint(check, report)


def one_of(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is valid by exactly one clause."""
    clauses = _clauses(spec, kind, "oneOf")
    if not clauses:
        return None
    checks: list[Check] = []

    def check(value: Any) -> bool:
        found = False
        for valid in _compiled(checks, clauses):
            if valid(value):
                if found:
                    return False
                found = True
        return found

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        results = [clause.report(value, name) for clause in clauses]
        valid = [each for each in results if each.is_valid]
        if len(valid) == 1:
            result.merge(valid[0])
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        result.add(composite(f"{quote(str(name))} must validate one and only one schema (oneOf). {found}"))
        if not valid:
            # max keeps the first of equals, as the reference does.
            result.merge(max(results, key=lambda each: each.match_count))

    return Constraint(check, report)


def all_of(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is valid by all clauses."""
    clauses = _clauses(spec, kind, "allOf")
    if not clauses:
        return None
    checks: list[Check] = []

    def check(value: Any) -> bool:
        for valid in _compiled(checks, clauses):  # noqa: SIM110 a generator would double the time
            if not valid(value):
                return False
        return True

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        results = [clause.report(value, name) for clause in clauses]
        for each in results:
            result.merge(each)
        if not all(each.is_valid for each in results):
            none = "" if any(each.is_valid for each in results) else ". None validated"
            result.add(composite(f"{quote(str(name))} must validate all the schemas (allOf){none}"))

    return Constraint(check, report)


def not_(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is not valid by the clause."""
    clauses = _clauses(spec, kind, "not")
    if not clauses:
        return None
    clause = clauses[0]

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        if clause.report(value, name).is_valid:
            result.add(composite(f"{quote(str(name))} must not validate the schema (not)"))

    return Constraint(lambda value: not clause.check(value), report)


def _compiled(checks: list[Check], clauses: Sequence[Node]) -> list[Check]:
    """Return the checks of clauses, which are compiled on first use."""
    if not checks:
        checks[:] = [clause.check for clause in clauses]
    return checks


def _clauses(spec: Node, kind: type, keyword: str) -> Sequence[Node]:
    return [] if kind is NoneType or spec.raw.get(keyword) is None else spec.clauses(keyword)


CLAUSES: Final[Functions] = {"anyOf": any_of, "oneOf": one_of, "allOf": all_of, "not": not_}
