"""JSONPath as printer columns use it: a template compiled once, then evaluated on plain JSON values.

Mirrors client-go util/jsonpath (parser.go, jsonpath.go) as far as columns come: one action, missing keys allowed,
without `range` and with what Go does on JSON values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from apiext.meta import go_format, json_codec

Values = list[Any]
Step = Callable[[Values], Values]
"""One node of a path: maps the current values to the next ones. Raises EvalError if they do not fit."""

_DICT_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_FILTER: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9.]*")
_IDENTIFIER: Final = re.compile(r"[^ \t\r\n.,\[\]$@{}]*")
_FIELD: Final = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.DOTALL)
_QUOTED: Final = {quote: re.compile(rf"([^\n]*?)(?<!\\){quote}") for quote in "\"'"}
"""A string after its opening quote, up to the quote that no backslash precedes."""


class PathError(ValueError):
    """A path that can not be parsed, with the reference's message."""


class EvalError(ValueError):
    """A value that does not fit the path."""


def compile_path(path: str) -> Step:
    """Compile a column's path to a function from `[object]` to the values.

    Raises:
        PathError: the path is malformed.
    """
    parser = _Parser(path)
    shown = _sequence(parser.parse())
    others = tuple(map(_sequence, parser.others))
    if not others:
        return shown

    def run(values: Values) -> Values:
        found = shown(values)
        for other in others:
            other(values)
        return found

    return run


def _sequence(steps: Sequence[Step]) -> Step:
    if len(steps) == 1:
        return steps[0]

    def run(values: Values) -> Values:
        for step in steps:
            values = step(values)
        return values

    return run


class _Parser:
    """Parses one action: the text between the braces around the column's path."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._steps: list[Step] = []
        self._recursive = False
        self.others: list[list[Step]] = []
        """Actions after the first. Their results are not shown, but a value that does not fit is an error."""

    def parse(self) -> list[Step]:
        """Parse the action.

        Raises:
            PathError: the path is malformed.
        """
        while self._at < len(self._text):
            rest = self._text[self._at :]
            if rest.startswith("}"):
                self._end(rest)
            elif rest.startswith("[?("):
                self._filter()
            elif rest.startswith(".."):
                self._descend()
            else:
                self._plain(rest[0])
        return self._steps

    def _end(self, rest: str) -> None:
        self._at = len(self._text)
        _, opening, action = rest.partition("{")
        if opening:
            following = _Parser(action)
            self.others += [following.parse(), *following.others]

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Skip the text that a pattern matches here, which may be empty, and return it."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match.group() if match else ""

    def _add(self, step: Step, *, recursive: bool = False) -> None:
        self._steps.append(step)
        self._recursive = recursive

    def _plain(self, char: str) -> None:
        self._at += 1
        if char in "\r\n":
            raise PathError("unclosed action")
        if char in " @$":
            return
        if char == "[":
            self._array()
        elif char in "\"'":
            self._quoted(char)
        elif char == ".":
            self._field()
        elif char in "+-" or char.isdigit():
            self._at -= 1
            self._number()
        elif char == "_" or char.isalnum():
            self._at -= 1
            self._identifier()
        else:
            raise PathError(f"unrecognized character in action: U+{ord(char):04X} '{char}'")

    def _identifier(self) -> None:
        name = self._take(_IDENTIFIER)
        if name in {"true", "false"}:
            self._add(_constant(name == "true"))
        else:
            self._add(_identifier(name))

    def _descend(self) -> None:
        if self._recursive:
            raise PathError("invalid multiple recursive descent")
        self._at += 2
        self._add(_recursive, recursive=True)
        following = self._text[self._at : self._at + 1]
        if following == "_" or following.isalnum():
            self._field()

    def _field(self) -> None:
        name = self._take(_FIELD)
        if self._text[self._at : self._at + 1] == "\\":
            # the brace that ends the action is escaped
            raise PathError("unclosed action")
        self._add(_wildcard if name == "*" else _field(name.replace("\\", "")))

    def _number(self) -> None:
        literal = self._take(_NUMBER)
        try:
            self._add(_constant(int(literal) if "." not in literal else float(literal)))
        except ValueError:
            raise PathError(f"cannot parse number {literal}") from None

    def _quoted(self, quote: str) -> None:
        match = _QUOTED[quote].match(self._text, self._at)
        if match is None:
            raise PathError("unterminated quoted string")
        self._at = match.end()
        self._add(_constant(_unquote(match[1])))

    def _array(self) -> None:
        end = self._text.find("]", self._at)
        if end < 0 or "\n" in self._text[self._at : end]:
            raise PathError("unterminated array")
        inner = self._text[self._at : end]
        self._at = end + 1
        inner = ":" if inner == "*" else inner
        parts = inner.split(",")
        if len(parts) > 1:
            self._add(_union([_sequence(_Parser(f"[{part.strip(' ')}]").parse()) for part in parts]))
            return
        key = _DICT_KEY.fullmatch(inner)
        if key:
            for step in _Parser(f".{key.group(1)}").parse():
                self._add(step)
            return
        self._add(_array(_slice_params(inner)))

    def _filter(self) -> None:
        self._at += len("[?(")
        start, pair, ended = self._at, "", False
        while True:
            if self._at >= len(self._text) or self._text[self._at] == "\n":
                raise PathError("unterminated filter")
            char = self._text[self._at]
            self._at += 1
            if char in "\"'":
                if not pair:
                    pair = char
                elif char == pair and self._text[self._at - 2] != "\\":
                    ended = True
            elif char == ")" and bool(pair) == ended:
                break
        inner = self._text[start : self._at - 1]
        if self._text[self._at : self._at + 1] != "]":
            raise PathError("unclosed array expect ]")
        self._at += 1
        match = _FILTER.fullmatch(inner)
        if match is None:
            self._add(_exists(_sequence(_Parser(inner).parse())))
        else:
            left, operator, right = match.groups()
            self._add(_compare(_sequence(_Parser(left).parse()), operator, _sequence(_Parser(right).parse())))


def _unquote(inner: str) -> str:
    if "\\" not in inner:
        return inner
    try:
        return inner.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        raise PathError(f"unquote string {inner} error invalid syntax") from None


def _slice_params(inner: str) -> tuple[int | None, int | None, bool, int | None]:
    """Return start, end, whether the end was derived from the start (a single index), and step."""
    match = _SLICE.fullmatch(inner)
    if match is None:
        raise PathError(f"invalid array index {inner}")
    start, end, step = match.groups()
    try:
        first = int(start) if start else None
        if end:
            return first, int(end[1:]) if end[1:] else None, False, int(step[1:]) if step and step[1:] else None
    except ValueError:
        raise PathError(f"array index {inner} is not a number") from None
    return first, (first or 0) + 1, True, None


# --- evaluation -----------------------------------------------------------------------------------------------------


def _constant(constant: object) -> Step:
    return lambda values: [constant for _ in values]


def _field(name: str) -> Step:
    def step(values: Values) -> Values:
        return [value[name] for value in values if isinstance(value, dict) and name in value]

    return step


def _members(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, str):
        return [number for char in value for number in char.encode()]
    return value if isinstance(value, list) else []


def _wildcard(values: Values) -> Values:
    return [member for value in values if value is not None for member in _members(value)]


def _recursive(values: Values) -> Values:
    found: Values = []
    for value in values:
        members = _members(value)
        if members:
            found.append(value)
            found += _recursive(members)
    return found


def _identifier(name: str) -> Step:
    def step(_: Values) -> Values:
        raise EvalError(f"unrecognized identifier {name}")

    return step


def _union(branches: Sequence[Step]) -> Step:
    return lambda values: [found for branch in branches for found in branch(values)]


def _array(params: tuple[int | None, int | None, bool, int | None]) -> Step:
    start, end, derived, stride = params

    def step(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise EvalError(f"{type(value).__name__} is not array or slice")
            size = len(value)
            first, last = start or 0, size if end is None else end
            first += size if first < 0 else 0
            last += size if last < 0 or (last == 0 and derived) else 0
            if first == last:
                return found
            if not 0 <= first < size or not 0 <= last <= size or first > last:
                raise EvalError("array index out of bounds")
            if stride is not None and stride <= 0:
                raise EvalError("step must be > 0")
            found += value[first : last : stride or 1]
        return found

    return step


def _elements(values: Values) -> Values:
    for value in values:
        if not isinstance(value, list):
            raise EvalError(f"{value} is not array or slice and cannot be filtered")
    return [element for value in values for element in value]


def _exists(inner: Step) -> Step:
    return lambda values: [element for element in _elements(values) if _try(inner, element)]


def _try(inner: Step, element: Any) -> Values:
    try:
        return inner([element])
    except EvalError:
        return []


def _compare(left: Step, operator: str, right: Step) -> Step:
    def step(values: Values) -> Values:
        found: Values = []
        for element in _elements(values):
            lefts = left([element])
            rights = right([element]) if lefts else []
            if len(lefts) > 1 or len(rights) > 1:
                raise EvalError("can only compare one element at a time")
            if lefts and rights and _holds(lefts[0], operator, rights[0]):
                found.append(element)
        return found

    return step


def _holds(left: Any, operator: str, right: Any) -> bool:
    if _basic_kind(left) != _basic_kind(right):
        raise EvalError("incompatible types for comparison")
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case "<" | ">" | "<=" | ">=" if not isinstance(left, bool):
            ordered = left < right if operator[0] == "<" else left > right
            return bool(ordered or (len(operator) == 2 and left == right))
    raise EvalError(f"unrecognized filter operator {operator}")


def _basic_kind(value: Any) -> str:
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind.__name__
    raise EvalError("invalid type for comparison")


def print_value(value: Any) -> str:
    """Return a value as the reference prints it: JSON for maps and lists, Go's %v for scalars."""
    if isinstance(value, dict | list):
        return json_codec.dumps(value).decode()
    return "<no value>" if value is None else go_format.value(value)
