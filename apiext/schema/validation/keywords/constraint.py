"""What a keyword requires of the values of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from apiext.schema.lazy_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.result import Result, Violation

if TYPE_CHECKING:
    from apiext.schema.model import Props
    from apiext.schema.validation.keywords.enumeration import Enumeration

Check = Callable[[Any], bool]
Report = Callable[[Any, DottedPath, Result, Correlated | None], None]
"""Adds the violations of a value to a result. Called with the value, its path, the result, and the value's place in the old object."""
NoneType: Final = type(None)


class Node(Protocol):
    """A schema node as keywords read it (spec.py)."""

    @property
    def raw(self) -> Props:
        """Return the keywords."""
        ...

    @property
    def types(self) -> tuple[str, ...]:
        """Return the types of the values, none if any type is allowed."""
        ...

    @property
    def format(self) -> str:
        """Return the format that is validated, or ""."""
        ...

    @property
    def nullable(self) -> bool:
        """Return whether null is allowed."""
        ...

    @property
    def enumeration(self) -> Enumeration:
        """Return the values of the enum, which the node must have."""
        ...

    @property
    def check(self) -> Check:
        """Return the compiled check of a value."""
        ...

    @property
    def properties(self) -> Mapping[str, Node]:
        """Return the nodes of the properties."""
        ...

    @property
    def items(self) -> Node | None:
        """Return the node of the items of a list."""
        ...

    @property
    def additional(self) -> Node | None:
        """Return the node of the additional properties."""
        ...

    def clauses(self, keyword: str) -> Sequence[Node]:
        """Return the nodes of a keyword that has one schema or a list of them."""
        ...

    def report(self, value: Any, name: DottedPath, known: Correlated | None = None) -> Result:
        """Return the violations of a value."""
        ...

    def report_change(self, value: Any, name: DottedPath, known: Correlated | None) -> Result:
        """Return the violations of a value that is not unchanged."""
        ...


class DoubtError(Exception):
    """A float stands in the place of an integer, or a list in the place of a formatted string: it may be valid, but has another type."""


class Constraint(NamedTuple):
    """The check of a keyword and its report, for the values of one Python type."""

    check: Check
    """Whether a value surely is valid. Raises DoubtError for a value that may be."""
    report: Report
    span: tuple[float, float] | None = None
    """Least and greatest integer, or size of other values, if the check only compares with these. One check covers several spans."""
    typed: bool = False
    """Whether the check is False for values of other types."""


KeywordFunction = Callable[[Node, type], Constraint | None]
"""Returns what a keyword of a node requires of values of a Python type, None if nothing."""
Functions = dict[str, KeywordFunction]
"""Functions by keyword. One function may serve keywords that mean nothing without each other, or that one pass checks."""


def constraint(
    check: Check,
    violation: Callable[[Any, DottedPath], Violation],
    *,
    span: tuple[float, float] | None = None,
    typed: bool = False,
    hidden_by: Iterable[Constraint | None] = (),
) -> Constraint:
    """Return a constraint with one violation, that of the values for which the check is False.

    hidden_by: constraints instead of which this one is not reported.
    """
    others = [each.check for each in hidden_by if each is not None]

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        if not check(value) and all(is_valid(value) for is_valid in others):
            result.add(violation(value, name))

    return Constraint(check, report, span, typed)


def accept(_: Any) -> bool:
    """Accept every value."""
    return True


def reject(_: Any) -> bool:
    """Reject every value."""
    return False
