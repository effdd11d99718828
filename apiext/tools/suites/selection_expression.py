"""The expression of `-k`, as pytest's: words and quoted texts with `and`, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

Selection = Callable[[str], bool]
"""Returns whether a name is selected. SuiteCase does not matter."""
_TOKEN: Final = re.compile(r"\s*(?:(?P<mark>[()])|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<word>[^\s()\"']+))")


class ExpressionError(ValueError):
    """The text is no expression."""


def parse_selection(text: str) -> Selection:
    """Return the selection of an expression.

    Raises:
        ExpressionError: it is not one.
    """
    parser = _Parser(text)
    found = parser.either()
    if parser.peek:
        raise ExpressionError(f"-k: unexpected {parser.peek[1]!r} in {text!r}")
    return lambda name: found(name.lower())


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [_token(found) for found in self._found()]

    @property
    def peek(self) -> tuple[str, str] | None:
        """Return the kind and the text of the next token, None at the end."""
        return self._tokens[0] if self._tokens else None

    def either(self) -> Selection:
        """Read parts with `or` between them."""
        parts = [self.both()]
        while self._accept("word", "or"):
            parts.append(self.both())
        return lambda name: any(part(name) for part in parts)

    def both(self) -> Selection:
        """Read parts with `and` between them."""
        parts = [self._single()]
        while self._accept("word", "and"):
            parts.append(self._single())
        return lambda name: all(part(name) for part in parts)

    def _single(self) -> Selection:
        if self._accept("word", "not"):
            inverted = self._single()
            return lambda name: not inverted(name)
        if self._accept("mark", "("):
            inner = self.either()
            if not self._accept("mark", ")"):
                raise ExpressionError(f"-k: missing ) in {self._text!r}")
            return inner
        if self.peek is None or self.peek[0] == "mark" or self.peek in {("word", "and"), ("word", "or")}:
            raise ExpressionError(f"-k: a word is missing in {self._text!r}")
        wanted = self._tokens.pop(0)[1].lower()
        return lambda name: wanted in name

    def _accept(self, kind: str, text: str) -> bool:
        if self.peek != (kind, text):
            return False
        self._tokens.pop(0)
        return True

    def _found(self) -> list[re.Match[str]]:
        found, at, text = [], 0, self._text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise ExpressionError(f"-k: unexpected {text[at:].strip()!r} in {self._text!r}")
            found.append(token)
            at = token.end()
        return found


def _token(found: re.Match[str]) -> tuple[str, str]:
    kind = str(found.lastgroup)
    return ("quoted" if kind in {"double", "single"} else kind), found[kind]
