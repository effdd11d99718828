"""Positions in an expression and the display of its errors (cel-go common/error.go, errors.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MAX_ISSUES: Final = 100
_MAX_SNIPPET_BYTES: Final = 16384


@dataclass(frozen=True, slots=True)
class Issue:
    """An error of an expression."""

    offset: int | None
    """Position in the source in code points; None for errors of the whole expression."""
    message: str


class CompileError(Exception):
    """An expression was rejected. The text is cel-go's, such as `ERROR: <input>:1:3: undeclared reference to ...`."""


def display_issues(source: str, issues: list[Issue]) -> str:
    """Return the text of errors in source order. Each has its line of the source and a mark below its position."""
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    shown = sorted(issues[:_MAX_ISSUES], key=lambda issue: -1 if issue.offset is None else issue.offset)
    texts = []
    number = 0
    for issue in shown:
        if issue.offset is None:
            texts.append(f"ERROR: <input>:-1:0: {issue.message}")
            continue
        while starts[number + 1] <= issue.offset and number + 1 < len(lines):
            number += 1
        column = issue.offset - starts[number]
        texts.append(f"ERROR: <input>:{number + 1}:{column + 1}: {issue.message}{_snippet(source, lines[number], column)}")
    if len(issues) > _MAX_ISSUES:
        texts.append(f"{len(issues) - _MAX_ISSUES} more errors were truncated")
    return "\n".join(texts)


def _snippet(source: str, line: str, column: int) -> str:
    if not source or len(line.encode()) > _MAX_SNIPPET_BYTES:
        return ""
    line = line.replace("\t", " ")
    dots = "".join("\uff0e" if ord(char) > 0x7F else "." for char in line[:column])
    mark = "\uff3e" if column < len(line) and ord(line[column]) > 0x7F else "^"
    return f"\n | {line}\n | {dots}{mark}"
