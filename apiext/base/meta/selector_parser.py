"""Parses label and field selectors with the reference's grammar and errors.

Mirrors apimachinery pkg/labels and pkg/fields. A selector may be as long as a header line: requests parse it in slices, and the
parser remembers the latest ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from apiext.base.meta import field, limits, names
from apiext.base.meta.selectors import (
    OPERATORS,
    FieldRequirement,
    FieldSelector,
    LabelRequirement,
    LabelSelector,
    Operator,
    integer,
)
from apiext.base.meta.steps import Steps, at_once

T = TypeVar("T")

_IDENTIFIER: Final = re.compile(r"[^=!(),>< \t\r\n]+")
_TOKEN: Final = re.compile(rf"[ \t\r\n]*(==|!=|[=!(),><]|{_IDENTIFIER.pattern})")
_STEP: Final = 64
"""Values between two steps."""
_MAX_REMEMBERED: Final = 128 * 1024
"""Characters of all remembered selectors of a kind. A parsed selector takes up to 100 times the memory of its text."""


class _Parser(Generic[T]):
    """Parses selectors of one kind and remembers the latest ones."""

    def __init__(self, steps: Callable[[str], Steps[T]]) -> None:
        self._steps = steps
        self._known: dict[str, T] = {}
        self._size = 0

    def __call__(self, text: str) -> Steps[T]:
        """Return a selector, in steps."""
        known = self._known.get(text)
        if known is None:
            known = yield from self._steps(text)
            self._remember(text, known)
        return known

    def _remember(self, text: str, selector: T) -> None:
        if text in self._known:
            return
        self._known[text] = selector
        self._size += len(text)
        while self._size > _MAX_REMEMBERED:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._size -= len(oldest)


def parse_label_selector(text: str) -> LabelSelector:
    """Parse `a=b,c in (d,e),!f`.

    Raises:
        ValueError: the selector is malformed; the message is the reference's.
    """
    return at_once(_LABELS(text))


def label_selector_steps(text: str) -> Steps[LabelSelector]:
    """Parse a label selector of any length in steps. Raises as `parse_label_selector`."""
    return _LABELS(text)


def parse_field_selector(text: str) -> FieldSelector:
    """Parse `metadata.name=a,spec.b!=c`.

    Raises:
        ValueError: the selector is malformed; the message is the reference's.
    """
    return at_once(_FIELDS(text))


def check_values(requirement: LabelRequirement) -> None:
    """Check the values of a requirement.

    Raises:
        ValueError: one of them is invalid; the message is the reference's.
    """
    at_once(_checked(requirement))


def label_requirement_steps(text: str) -> Steps[list[LabelRequirement]]:
    """Return the requirements of a label selector in steps. Raises as `parse_label_selector`."""
    requirements: list[LabelRequirement] = []
    yield from _each_label_requirement(text, requirements.append)
    return requirements


def field_requirement_steps(text: str) -> Steps[list[FieldRequirement]]:
    """Return the requirements of a field selector in steps. Raises as `parse_field_selector`."""
    requirements: list[FieldRequirement] = []
    yield from _each_field_requirement(text, requirements.append)
    return requirements


def field_selector_steps(text: str) -> Steps[FieldSelector]:
    """Parse a field selector of any length in steps. Raises as `parse_field_selector`."""
    return _FIELDS(text)


class _Tokens:
    """The tokens of a label selector: kind and literal of each."""

    def __init__(self, text: str) -> None:
        self._rest = _lex(text)
        self._next = next(self._rest)

    def peek(self) -> tuple[str, str]:
        """Return the next token."""
        return self._next

    def take(self) -> tuple[str, str]:
        """Return the next token and advance past it, except past the last one."""
        token = self._next
        self._next = next(self._rest, token)
        return token


def _lex(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while found := _TOKEN.match(text, at):
        literal, at = found[1], found.end()
        yield ("identifier" if _IDENTIFIER.match(literal) else literal), literal
    yield "end", ""


def _label_steps(text: str) -> Steps[LabelSelector]:
    selector = LabelSelector(text)
    yield from _each_label_requirement(text, selector.add)
    return selector


def _each_label_requirement(text: str, take: Callable[[LabelRequirement], None]) -> Steps[None]:
    tokens = _Tokens(text)
    while True:
        kind, literal = tokens.peek()
        if kind == "end":
            break
        if kind not in ("identifier", "!"):
            raise ValueError(f"found '{literal}', expected: !, identifier, or 'end of string'")
        try:
            requirement = yield from _requirement(tokens)
        except ValueError as error:
            raise ValueError(f"unable to parse requirement: {error}") from error
        take(requirement)
        yield
        kind, literal = tokens.take()
        if kind == "end":
            break
        if kind != ",":
            raise ValueError(f"found '{literal}', expected: ',' or 'end of string'")
        kind, literal = tokens.peek()
        if kind not in ("identifier", "!"):
            raise ValueError(f"found '{literal}', expected: identifier after ','")


def _requirement(tokens: _Tokens) -> Steps[LabelRequirement]:
    kind, key = tokens.take()
    absent = kind == "!"
    if absent:
        kind, key = tokens.take()
    if kind != "identifier":
        raise ValueError(f"found '{key}', expected: identifier")
    if problems := names.label_key(key):
        raise ValueError(str(field.invalid(field.ROOT, key, "; ".join(problems))))
    if absent:
        return LabelRequirement(key, Operator.DOES_NOT_EXIST)
    if tokens.peek()[0] in ("end", ","):
        return LabelRequirement(key, Operator.EXISTS)
    literal = tokens.take()[1]
    operator = OPERATORS.get(literal)
    if operator is None:
        raise ValueError(f"found '{literal}', expected: {', '.join(OPERATORS.values())}")
    if operator in (Operator.IN, Operator.NOT_IN):
        values = yield from _values(tokens)
    else:
        values = {_exact_value(tokens)}
    return (yield from _checked(LabelRequirement(key, operator, tuple(sorted(values)))))


def _checked(requirement: LabelRequirement) -> Steps[LabelRequirement]:
    errors: list[field.FieldError] = []
    path = field.Path("values")
    if requirement.operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        value = requirement.values[0]
        if integer(value) is None:
            errors.append(field.invalid(path.index(0), value, "for 'Gt', 'Lt' operators, the value must be an integer"))
    for index, value in enumerate(requirement.values):
        if problems := names.label_value(value):
            errors.append(field.invalid(path.index(index).key(requirement.key), value, "; ".join(problems)))
            if len(errors) >= limits.MAX_INVALID_VALUES:
                break
        if not index % _STEP:
            yield
    if errors:
        raise ValueError(field.aggregate(errors))
    return requirement


def _values(tokens: _Tokens) -> Steps[set[str]]:
    kind, literal = tokens.take()
    if kind != "(":
        raise ValueError(f"found '{literal}' expected: '('")
    kind, literal = tokens.peek()
    if kind == ")":
        tokens.take()
        return {""}
    if kind not in ("identifier", ","):
        raise ValueError(f"found '{literal}', expected: ',', ')' or identifier")
    values = yield from _identifiers(tokens)
    tokens.take()  # The closing parenthesis, which ends the list.
    return values


def _identifiers(tokens: _Tokens) -> Steps[set[str]]:
    """Return the values up to the closing parenthesis. Nothing between commas or at an end is the empty value."""
    values: set[str] = set()
    while True:
        for _ in range(_STEP):
            kind, literal = tokens.take()
            follower, following = tokens.peek() if kind != "end" else ("", "")
            if kind == "identifier":
                values.add(literal)
                if follower == ")":
                    return values
                if follower != ",":
                    raise ValueError(f"found '{following}', expected: ',' or ')'")
            elif kind == ",":
                if not values or follower in (")", ","):
                    values.add("")
                if follower == ")":
                    return values
            else:
                raise ValueError(f"found '{literal}', expected: ',', or identifier")
        yield


def _exact_value(tokens: _Tokens) -> str:
    if tokens.peek()[0] in ("end", ","):
        return ""
    kind, literal = tokens.take()
    if kind != "identifier":
        raise ValueError(f"found '{literal}', expected: identifier")
    return literal


def _field_steps(text: str) -> Steps[FieldSelector]:
    selector = FieldSelector(text)
    yield from _each_field_requirement(text, selector.add)
    return selector


def _each_field_requirement(text: str, take: Callable[[FieldRequirement], None]) -> Steps[None]:
    for term in sorted(filter(None, _terms(text))):
        match = re.search("!=|==|=", term)
        if match is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = Operator.NOT_EQUALS if match.group() == "!=" else Operator.EQUALS
        label, value = term[: match.start()], re.sub(r"\\(.?)|[,=]", _unescaped, term[match.end() :], flags=re.DOTALL)
        if label or value:
            take(FieldRequirement(label, operator, value))
        yield


def _terms(text: str) -> list[str]:
    """Split a text at its unescaped commas."""
    if "\\" not in text:
        return text.split(",")
    return re.findall(r"((?:\\.|\\$|[^,\\])*)(?:,|$)", text, re.DOTALL)


def _unescaped(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    if escaped is None:
        raise ValueError(f"invalid field selector: unescaped character in value: {ord(match[0])}")
    if escaped not in ("\\", ",", "="):
        raise ValueError(f"invalid field selector: invalid escape sequence: \\{escaped}")
    return escaped


_LABELS: Final = _Parser(_label_steps)
_FIELDS: Final = _Parser(_field_steps)
