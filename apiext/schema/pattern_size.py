"""Estimates the program size of a regular expression from its text, in linear time."""

from __future__ import annotations

import re
from typing import Final

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
