"""JSONPath of printer columns: compiles a path once, for evaluation on plain JSON values.

Mirrors client-go util/jsonpath (parser.go) as columns use it: with missing keys allowed, and without `range`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from apiext.base.meta.encoding import utf8
from apiext.base.meta.jsonpath import steps as jsonpath_steps
from apiext.base.meta.jsonpath.steps import Meter, Step, Values, sequence
from apiext.base.meta.limits import MAX_PATH_STEPS
from apiext.base.meta.steps import Steps, at_once

Path = Callable[[Any, Meter], Values]
"""Returns the values at a path in an object. Raises EvalError if the object does not fit, or the meter is used up."""

_DICT_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_FILTER: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9.]*")
_IDENTIFIER: Final = re.compile(r"[^ \t\r\n.,\[\]$@{}]*")
_FIELD: Final = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.DOTALL)
_QUOTED: Final = {quote: re.compile(rf"([^\n]*?)(?<!\\){quote}") for quote in "\"'"}
"""A string from after its opening quote to the next quote without a backslash."""

_STEPS_AT_ONCE: Final = 256
"""Steps of a path that are parsed without a pause, in less than half a millisecond."""

_PIECE: Final = re.compile(
    r"""([^\\]+)|\\(?:([abfnrtv\\'"])|(?:x([0-9a-fA-F]{2}))|(?:u([0-9a-fA-F]{4}))|(?:U([0-9a-fA-F]{8}))|([0-7]{3}))""", re.DOTALL
)
_SIMPLE: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}
_MAX_BYTE: Final = 0xFF
_MAX_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def unquote(inner: str, quote: str) -> str:
    r"""Return the text between two quotes: escapes are replaced, and U+FFFD stands for each byte of \x or \377 that is not UTF-8.

    Raises:
        ValueError: an escape is unknown, or the quote is not escaped; the message is Go's.
    """
    if "\\" not in inner and quote not in inner:
        return inner
    data = bytearray()
    at = 0
    while at < len(inner):
        match = _PIECE.match(inner, at)
        if match is None:
            raise ValueError("invalid syntax")
        data += _bytes(match, quote)
        at = match.end()
    return utf8.replaced(data.decode("utf-8", "surrogateescape"))


def _bytes(match: re.Match[str], quote: str) -> bytes:
    text, simple, byte, *wide, octal = match.groups()
    if text is not None:
        if quote in text:
            raise ValueError("invalid syntax")
        return text.encode("utf-8", "surrogatepass")
    if simple is not None:
        if simple in "'\"" and simple != quote:
            raise ValueError("invalid syntax")
        return bytes((_SIMPLE[simple],))
    code = int(octal, 8) if octal else int(byte or wide[0] or wide[1], 16)
    if byte or octal:
        if code > _MAX_BYTE:
            raise ValueError("invalid syntax")
        return bytes((code,))
    if code > _MAX_CODE_POINT or code in _SURROGATES:
        raise ValueError("invalid syntax")
    return chr(code).encode()


class PathError(ValueError):
    """A malformed path, with the reference's message."""


def compile_path(path: str) -> Path:
    """Compile a column's path.

    Raises:
        PathError: the path is malformed, or has more than MAX_PATH_STEPS steps.
    """
    return at_once(compile_steps(path))


def compile_steps(path: str) -> Steps[Path]:
    """Compile a column's path in steps. Raises as `compile_path`."""
    # a closing brace ends the path: the reference reads it as a template in braces
    parsed = yield from _Parser(path.partition("}")[0]).parsing()
    steps = sequence(parsed)
    return lambda obj, meter: steps([obj], meter)


class _Parser:
    """Parses a path without the braces that surround it in templates."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._recursive = False
        self._steps: list[Step] = []

    def parse(self) -> list[Step]:
        """Return the steps of the path.

        Raises:
            PathError: the path is malformed or too long.
        """
        return at_once(self.parsing())

    def parsing(self) -> Steps[list[Step]]:
        """Parse in steps. Raises as `parse`."""
        text = self._text
        while self._at < len(text):
            if not len(self._steps) % _STEPS_AT_ONCE and self._steps:
                yield
            if text.startswith("[?(", self._at):
                self._filter()
            elif text.startswith("..", self._at):
                self._descend()
            else:
                self._plain(text[self._at])
        return self._steps

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Skip the text that matches a pattern here, perhaps empty, and return it."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match.group() if match else ""

    def _add(self, step: Step, *, recursive: bool = False) -> None:
        self._steps.append(step)
        self._recursive = recursive
        if len(self._steps) > MAX_PATH_STEPS:
            raise PathError(f"more than {MAX_PATH_STEPS} steps")

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
            self._add(jsonpath_steps.constant(name == "true"))
        else:
            self._add(jsonpath_steps.identifier(name))

    def _descend(self) -> None:
        if self._recursive:
            raise PathError("invalid multiple recursive descent")
        self._at += 2
        self._add(jsonpath_steps.recursive, recursive=True)
        following = self._text[self._at : self._at + 1]
        if following == "_" or following.isalnum():
            self._field()

    def _field(self) -> None:
        name = self._take(_FIELD)
        if self._text[self._at : self._at + 1] == "\\":
            # the closing brace is escaped
            raise PathError("unclosed action")
        self._add(jsonpath_steps.wildcard if name == "*" else jsonpath_steps.member(name.replace("\\", "")))

    def _number(self) -> None:
        literal = self._take(_NUMBER)
        try:
            self._add(jsonpath_steps.constant(int(literal) if "." not in literal else float(literal)))
        except ValueError:
            raise PathError(f"cannot parse number {literal}") from None

    def _quoted(self, quote: str) -> None:
        match = _QUOTED[quote].match(self._text, self._at)
        if match is None:
            raise PathError("unterminated quoted string")
        self._at = match.end()
        try:
            self._add(jsonpath_steps.constant(unquote(match[1], quote)))
        except ValueError as error:
            raise PathError(f"unquote string {quote}{match[1]}{quote} error {error}") from None

    def _array(self) -> None:
        end = self._text.find("]", self._at)
        if end < 0 or "\n" in self._text[self._at : end]:
            raise PathError("unterminated array")
        inner = self._text[self._at : end]
        self._at = end + 1
        inner = ":" if inner == "*" else inner
        parts = inner.split(",")
        if len(parts) > 1:
            self._add(jsonpath_steps.union([sequence(_Parser(f"[{part.strip(' ')}]").parse()) for part in parts]))
            return
        key = _DICT_KEY.fullmatch(inner)
        if key:
            for step in _Parser(f".{key.group(1)}").parse():
                self._add(step)
            return
        self._add(jsonpath_steps.elements(_slice_params(inner)))

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
            self._add(jsonpath_steps.exists(sequence(_Parser(inner).parse())))
        else:
            left, operator, right = match.groups()
            self._add(jsonpath_steps.compare(sequence(_Parser(left).parse()), operator, sequence(_Parser(right).parse())))


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
