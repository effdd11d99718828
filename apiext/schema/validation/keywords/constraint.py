"""What a keyword requires of the values of a node."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import count_members, identity
from apiext.base.meta.field import supported_values
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_INLINE_STEPS
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.field_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.result import Result, Violation

if TYPE_CHECKING:
    from apiext.schema.model import Props

Check = Callable[[Any], bool]
Report = Callable[[Any, DottedPath, Result, Correlated | None], None]
"""Adds the violations of a value to a result. Called with the value, its path, the result, and the value's place in the old object."""
NoneType: Final = type(None)


_TEXTS_OF_A_STEP: Final = 50
_VALUES_OF_A_STEP: Final = 8
_SHOWN_IN_A_STEP: Final = 4
"""Values of an enum that a step prepares: only for texts, for any values, and for the report."""
_CHARACTERS_OF_A_STEP: Final = 200
"""Characters of its texts that a step prepares for the report."""


class Enumeration:
    """The values of an enum, prepared at first use for all types of values and for the report.

    All properties are limited work (`base/scheduling/inline_work.py`).
    """

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    @cached_property
    def texts(self) -> frozenset[str]:
        """Return the texts."""
        current_work().step(len(self._values) // _TEXTS_OF_A_STEP)
        return frozenset(value for value in self._values if type(value) is str)

    @cached_property
    def identities(self) -> frozenset[Hashable]:
        """Return the keys of all values but null."""
        current_work().step(count_members(self._values, at_most=MAX_INLINE_STEPS * _VALUES_OF_A_STEP) // _VALUES_OF_A_STEP)
        return frozenset(identity(value) for value in self._values if value is not None)

    @cached_property
    def description(self) -> tuple[str, str]:
        """Return what stands for the list in a message that only has to be distinct, and the list as a field error has it."""
        current_work().step(count_members(self._values, at_most=MAX_INLINE_STEPS * _SHOWN_IN_A_STEP) // _SHOWN_IN_A_STEP)
        current_work().step(sum(len(value) for value in self._values if type(value) is str) // _CHARACTERS_OF_A_STEP)
        digest = hashlib.blake2b(" ".join(map(formatting.value, self._values)).encode(errors="surrogatepass")).hexdigest()
        return digest, supported_values(item if isinstance(item, str) else json_codec.dumps(item).decode() for item in self._values)


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
