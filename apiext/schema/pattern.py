"""Regular expressions of schemas: RE2 syntax as in Go's regexp package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from apiext.base.meta.limits import MAX_INLINE_PATTERN_SIZE, MAX_INLINE_PATTERN_STEPS, MAX_OPTIONAL_REPETITIONS, MAX_PATTERN_BYTES
from apiext.base.scheduling.inline_work import current_work

_MAX_CACHED_RESULTS = 256
_MAX_CACHED_LENGTH = 64
"""Greatest number of cached results of a pattern, and of characters of a cached text."""

_GO_CODES = {
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}

_MAX_DEPTH = 1000
"""Levels of nested groups that Go accepts."""

_OPTIONAL = re.compile(r"\{([0-9]{1,4}),([0-9]{1,4})\}")
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|$)|\\.", re.DOTALL)

_TOKEN: Final = re.compile(
    r"""\\Q (?P<quoted> .*?) (?: \\E | $)
    | (?P<named> \\ [pP] (?: \{ [^}]*+ (?: \} | $) | .))
    | (?P<class> \[ \^? \]? (?: \\ (?: . | $) | \[ : \^? \w+ : \] | [^]\\])*+ (?: \] | $))
    | \{ (?P<least> [0-9]{1,4}) (?P<open> , (?P<most> [0-9]{0,4}))? \}
    | (?P<literal> \\? .)""",
    re.DOTALL | re.VERBOSE,
)
_RANGE: Final = re.compile(r"[^\\]-[^]\\]|\\.", re.DOTALL)
_IGNORES_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")
_WIDE: Final = re.compile(r"\[\^|:\^|\\[DSWxX0-9]|[^\x00-\x7f]")
"""Signs of a class with characters of more than one byte."""

_NAMED_SIZE: Final = 1300
"""Instructions of the largest named class, the letters of Unicode."""
_ANY_SIZE: Final = 16
"""Instructions for all characters except a few."""
_FOLDED: Final = 4
"""Maximum number of cases of a character, and the growth of a class with all of them."""
_ESCAPES: Final = dict.fromkeys("dswDSW", _ANY_SIZE)


def size_bound(expression: str) -> int:
    """Return an upper bound of the instructions of an expression's program. For a malformed expression it has no meaning."""
    folded = _FOLDED if _IGNORES_CASE.search(expression) else 1
    groups = [[_ANY_SIZE, 0]]
    """For each open group: the size before its last operand, and the size of the operand, to which a repetition applies."""
    for token in _TOKEN.finditer(expression):
        group = groups[-1]
        literal = token["literal"]
        if literal == "(":
            groups.append([2, 0])
        elif literal == ")" and len(groups) > 1:
            groups.pop()
            _append(groups[-1], sum(group))
        elif literal in ("*", "+", "?"):
            group[1] += 2
        elif token["least"]:
            most = token["most"] if token["open"] else token["least"]
            group[1] = (group[1] + 2) * max(int(most or 0), int(token["least"]) + 1)
        else:
            _append(group, folded * _operand_size(token))
    return sum(map(sum, groups))


def _append(group: list[int], size: int) -> None:
    group[0] += group[1]
    group[1] = size


def _operand_size(token: re.Match[str]) -> int:
    if token["named"]:
        return _NAMED_SIZE
    if text := token["class"]:
        names = text.count(r"\p") + text.count(r"\P")
        if names or _WIDE.search(text):
            return _ANY_SIZE + 4 * len(text.encode()) + names * _NAMED_SIZE
        return len(_RANGE.sub("r", text[1:-1])) + text.count("[:") + 3 * text.count("\\")
    if (literal := token["literal"]) is None:
        return len(token["quoted"].encode())
    if literal == ".":
        return _ANY_SIZE
    return _ESCAPES.get(literal[1:], len(literal.encode()) - (len(literal) - 1))


class PatternError(ValueError):
    """A malformed or oversized expression. The text is the reference's."""


class Pattern:
    """A compiled expression.

    Raises:
        PatternError: the expression is malformed or too large.
    """

    __slots__ = ("_compiled", "_size", "results")

    def __init__(self, expression: str) -> None:
        if r"\C" in expression and r"\C" in _ESCAPE.findall(expression):
            # One byte for RE2, none for Go.
            raise PatternError(r"error parsing regexp: invalid escape sequence: `\C`")
        # imported with the first pattern: RE2 takes 3 MiB, with the C++ library
        import re2

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = MAX_PATTERN_BYTES
        try:
            # Matching bytes avoids the library's conversion of offsets.
            self._compiled = re2.compile(expression.encode(), options)
        except re2.error as error:
            raise PatternError(_go_message(expression, error)) from None
        self._size: int = self._compiled.programsize
        self.results: dict[str, bool] = {}
        """Whether the last short texts match. Objects repeat these (names, modes, versions), and a search takes ten times as long."""

    def matches(self, text: str) -> bool:
        """Return whether the expression matches anywhere in the text."""
        if len(text) > _MAX_CACHED_LENGTH:
            return self._search(text)
        found = self.results.get(text)
        if found is None:
            found = self._search(text)
            if len(self.results) >= _MAX_CACHED_RESULTS:
                self.results.clear()
            self.results[text] = found
        return found

    def _search(self, text: str) -> bool:
        data, work = text.encode(), current_work()
        work.check_size(self._size * len(data), MAX_INLINE_PATTERN_STEPS)
        return work.run(self._compiled.search, data) is not None

    def find_all(self, text: str) -> Iterator[str]:
        """Yield the matches of Go's FindAllString: they do not overlap, and none is empty at the end of the previous one."""
        data, work = text.encode(), current_work()
        work.check_size(self._size * len(data), MAX_INLINE_PATTERN_STEPS)
        search = partial(self._compiled.search, data)
        position, last_end = 0, -1
        while position <= len(data):
            found = work.run(search, position)
            if found is None:
                return
            start, end = found.span()
            if end > position or start != last_end:
                yield data[start:end].decode()
            position = end if end > position else position + _character_size(data, position)
            last_end = end


def _character_size(data: bytes, position: int) -> int:
    """Return the bytes of a character of UTF-8; 1 at the end."""
    lead = data[position] if position < len(data) else 0
    return 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)


def compile_pattern(expression: str) -> Pattern:
    """Compile an expression.

    Raises:
        PatternError: the expression is malformed, too large or too deep.
    """
    # its import is no part of the work for this expression
    import re2  # noqa: F401

    return current_work().run(_compile, expression)


def check_pattern(expression: str) -> None:
    """Compile an expression. Trusting work skips expensive ones: the expression was compiled before it was stored.

    Raises:
        PatternError: the expression is malformed, too large or too deep.
    """
    current_work().check(compile_pattern, expression)


def _compile(expression: str) -> Pattern:
    """Compile an expression. Raises PatternError. Limited work declines a large one."""
    work = current_work()
    if work.is_limited and (len(expression) > MAX_INLINE_PATTERN_SIZE or size_bound(expression) > MAX_INLINE_PATTERN_SIZE):
        work.decline()
    if expression.count("(") >= _MAX_DEPTH and _depth(expression) >= _MAX_DEPTH:
        raise PatternError(f"error parsing regexp: expression nests too deeply: `{expression}`")
    if sum(max(0, int(most) - int(least)) for least, most in _OPTIONAL.findall(expression)) > MAX_OPTIONAL_REPETITIONS:
        raise PatternError(f"error parsing regexp: expression too large: `{expression}`")
    return Pattern(expression)


def _depth(expression: str) -> int:
    """Return an upper bound of the nesting of groups. Brackets inside character classes count too."""
    depth = deepest = 0
    for char in _ESCAPE.sub("", expression):
        depth += (char == "(") - (char == ")")
        deepest = max(deepest, depth)
    return deepest


def _go_message(expression: str, error: Exception) -> str:
    message = error.args[0].decode(errors="replace")
    if message.startswith("trailing"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    if message.endswith(("(?<=", "(?<!")):
        # Go treats this as the start of a named group.
        group, closed, _ = expression[expression.index(message[-4:]) :].partition(">")
        return f"error parsing regexp: invalid named capture: `{group}{closed}`"
    for code, go_code in _GO_CODES.items():
        if message == code or message.startswith(f"{code}: "):
            return f"error parsing regexp: {go_code}: `{message[len(code) + 2 :] if ': ' in message else expression}`"
    code, _, argument = message.partition(": ")
    return f"error parsing regexp: {code}: `{argument}`"
