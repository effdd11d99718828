"""Label and field selectors: parsed with the reference's grammar and errors, and matched.

Mirrors apimachinery pkg/labels and pkg/fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apiext.meta import field, names

_IDENTIFIER: Final = re.compile(r"[^=!(),>< \t\r\n]+")
_TOKEN: Final = re.compile(rf"==|!=|[=!(),><]|{_IDENTIFIER.pattern}")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MAX_INT64: Final = 2**63 - 1


class Operator(StrEnum):
    """The operators of requirements (apimachinery pkg/selection)."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_SYMBOLS: Final = {operator: symbol for symbol, operator in _OPERATORS.items()}


def _integer(text: str) -> int | None:
    """Return an int64 as Go's ParseInt reads it, None for anything else."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_MAX_INT64 - 1 <= number <= _MAX_INT64 else None


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """A condition on one label; the values are sorted."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        """Return whether labels satisfy the condition."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        number = _integer(value) if value is not None else None
        bound = _integer(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        symbol, values = _SYMBOLS[self.operator], ",".join(self.values)
        if self.operator in (Operator.IN, Operator.NOT_IN):
            return f"{self.key} {symbol} ({values})"
        return f"{self.key}{symbol}{values}"


class LabelSelector:
    """A label selector: all requirements must hold; without any it selects everything."""

    __slots__ = ("equality", "requirements")

    def __init__(self, requirements: Iterable[LabelRequirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.equality = self._single_equality()
        """Key and value of a selector with a single equality, which list scans check directly."""

    def _single_equality(self) -> tuple[str, str] | None:
        if len(self.requirements) != 1:
            return None
        only = self.requirements[0]
        exact = only.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN) and len(only.values) == 1
        return (only.key, only.values[0]) if exact else None

    @property
    def empty(self) -> bool:
        """Return whether the selector selects everything."""
        return not self.requirements

    def matches(self, labels: dict[str, str]) -> bool:
        """Return whether labels satisfy every requirement."""
        if self.equality is not None:
            return labels.get(self.equality[0]) == self.equality[1]
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


class _Tokens:
    """The tokens of a label selector and the parser's position."""

    def __init__(self, text: str) -> None:
        self._items = list(_lex(text))
        self._position = 0

    def peek(self) -> tuple[str, str]:
        """Return kind and literal of the next token."""
        return self._items[self._position]

    def take(self) -> tuple[str, str]:
        """Return the next token and advance."""
        token = self.peek()
        self._position += 1
        return token


def _lex(text: str) -> Iterable[tuple[str, str]]:
    # The reference's lexer takes a NUL for the end of the text.
    for literal in _TOKEN.findall(text.partition("\0")[0]):
        yield ("identifier" if _IDENTIFIER.match(literal) else literal), literal
    yield "end", ""


def parse_label_selector(text: str) -> LabelSelector:
    """Parse `a=b,c in (d,e),!f`.

    Raises:
        ValueError: the selector is malformed; the message is the reference's.
    """
    tokens = _Tokens(text)
    requirements: list[LabelRequirement] = []
    while True:
        kind, literal = tokens.peek()
        if kind == "end":
            return LabelSelector(requirements)
        if kind not in ("identifier", "!"):
            raise ValueError(f"found '{literal}', expected: !, identifier, or 'end of string'")
        try:
            requirements.append(_requirement(tokens))
        except ValueError as error:
            raise ValueError(f"unable to parse requirement: {error}") from error
        kind, literal = tokens.take()
        if kind == "end":
            return LabelSelector(requirements)
        if kind != ",":
            raise ValueError(f"found '{literal}', expected: ',' or 'end of string'")
        kind, literal = tokens.peek()
        if kind not in ("identifier", "!"):
            raise ValueError(f"found '{literal}', expected: identifier after ','")


def _requirement(tokens: _Tokens) -> LabelRequirement:
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
    operator = _OPERATORS.get(literal)
    if operator is None:
        raise ValueError(f"found '{literal}', expected: {', '.join(_SYMBOLS)}")
    values = _values(tokens) if operator in (Operator.IN, Operator.NOT_IN) else {_exact_value(tokens)}
    return _checked(LabelRequirement(key, operator, tuple(sorted(values))))


def _checked(requirement: LabelRequirement) -> LabelRequirement:
    errors: list[field.FieldError] = []
    path = field.Path("values")
    for index, value in enumerate(requirement.values):
        if requirement.operator in (Operator.GREATER_THAN, Operator.LESS_THAN) and _integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(field.invalid(path.index(index), value, detail))
    for index, value in enumerate(requirement.values):
        if problems := names.label_value(value):
            errors.append(field.invalid(path.index(index).key(requirement.key), value, "; ".join(problems)))
    if errors:
        raise ValueError(field.aggregate(errors))
    return requirement


def _values(tokens: _Tokens) -> set[str]:
    kind, literal = tokens.take()
    if kind != "(":
        raise ValueError(f"found '{literal}' expected: '('")
    kind, literal = tokens.peek()
    if kind == ")":
        tokens.take()
        return {""}
    if kind not in ("identifier", ","):
        raise ValueError(f"found '{literal}', expected: ',', ')' or identifier")
    values = _identifiers(tokens)
    tokens.take()  # The closing parenthesis, which ends the list.
    return values


def _identifiers(tokens: _Tokens) -> set[str]:
    """Return the values up to the closing parenthesis; an empty place between commas or at an end is the empty value."""
    values: set[str] = set()
    while True:
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


def _exact_value(tokens: _Tokens) -> str:
    if tokens.peek()[0] in ("end", ","):
        return ""
    kind, literal = tokens.take()
    if kind != "identifier":
        raise ValueError(f"found '{literal}', expected: identifier")
    return literal


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A condition on one selectable field: equal or not equal; an absent field is empty."""

    field: str
    operator: Operator
    value: str

    def matches(self, fields: dict[str, str]) -> bool:
        """Return whether the fields satisfy the condition."""
        return (fields.get(self.field, "") == self.value) is (self.operator is Operator.EQUALS)

    def __str__(self) -> str:
        value = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{self.operator}{value}"


class FieldSelector:
    """A field selector: all requirements must hold; without any it selects everything."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(requirements)

    @property
    def empty(self) -> bool:
        """Return whether the selector selects everything."""
        return not self.requirements

    def matches(self, fields: dict[str, str]) -> bool:
        """Return whether the fields satisfy every requirement."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def requires_exact(self, name: str) -> str | None:
        """Return the value that a field must equal, None if the selector does not require one."""
        for requirement in self.requirements:
            if requirement.field == name and requirement.operator is Operator.EQUALS:
                return requirement.value
        return None

    def transform(self, function: Callable[[str, str], tuple[str, str]]) -> FieldSelector:
        """Return a selector with the function applied to each field and value; pairs that become empty are dropped."""
        replaced = ((function(old.field, old.value), old.operator) for old in self.requirements)
        return FieldSelector(FieldRequirement(name, operator, value) for (name, value), operator in replaced if name or value)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse_field_selector(text: str) -> FieldSelector:
    """Parse `metadata.name=a,spec.b!=c`.

    Raises:
        ValueError: the selector is malformed; the message is the reference's.
    """
    requirements = []
    for term in sorted(_terms(text)):
        if not term:
            continue
        match = re.search("!=|==|=", term)
        if match is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = Operator.NOT_EQUALS if match.group() == "!=" else Operator.EQUALS
        field, value = term[: match.start()], re.sub(r"\\(.?)|[,=]", _unescaped, term[match.end() :], flags=re.DOTALL)
        if field or value:
            requirements.append(FieldRequirement(field, operator, value))
    return FieldSelector(requirements)


def _terms(text: str) -> list[str]:
    """Split a text at commas without a backslash before them."""
    return re.findall(r"((?:\\.|\\$|[^,\\])*)(?:,|$)", text, re.DOTALL) if text else []


def _unescaped(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    if escaped is None:
        raise ValueError(f"invalid field selector: unescaped character in value: {ord(match[0])}")
    if escaped not in ("\\", ",", "="):
        raise ValueError(f"invalid field selector: invalid escape sequence: \\{escaped}")
    return escaped
